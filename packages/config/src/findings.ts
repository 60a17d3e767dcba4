import { errorMessage } from '@cluster-apiserver/base';
import { formatPath, type Path, Problems } from '@cluster-apiserver/model';
import { type Place, type TextPlaces, textPlaces } from '@cluster-apiserver/model/codec';

/** A problem of a configuration file. */
export interface Problem {
  /** Full message, prefixed with the path into the loaded file. */
  readonly text: string;
  /** Set if the problem is in a file that the loaded one references. */
  readonly file: string | undefined;
  /** Line and column in that file. */
  readonly place: Place | undefined;
  readonly path: Path;
  readonly message: string;
}

/** A PEM bundle of certificates, and where it was found. */
export interface FoundCertificates {
  readonly pem: string;
  readonly file: string | undefined;
  readonly place: Place | undefined;
  readonly path: Path;
}

/** All problems of a configuration, each as a message that begins with a path into its file. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly faults: readonly string[];
  readonly problems: readonly Problem[];
  constructor(problems: readonly (string | Problem)[]) {
    const all = problems.map((one) => (typeof one === 'string' ? toFileProblem(one) : one));
    // A field can be read twice; its problems are reported once.
    const byText = new Map(all.map((problem) => [problem.text, problem]));
    super([...byText.keys()].join('\n'));
    this.faults = [...byText.keys()];
    this.problems = [...byText.values()];
  }
}

/** A problem of a file as a whole. */
const toFileProblem = (text: string): Problem => ({
  text,
  file: undefined,
  place: undefined,
  path: [],
  message: text,
});

/** Offset of a text that is a part of its file. */
export interface Start {
  /** The first line is 1. */
  readonly line: number;
  /** Number of characters before it on its first line. */
  readonly indent: number;
  /** Prefix of its paths in messages. */
  readonly name: string;
}

/** Collects problems and certificates while a file is read. Lines and columns are computed only when needed. */
export class Findings {
  readonly problems: Problem[] = [];
  readonly certificates: FoundCertificates[] = [];
  readonly #file: string | undefined;
  readonly #text: string;
  readonly #start: Start | undefined;
  /** The places of values that are not what their schema says. */
  readonly #refused = new Set<string>();
  #places: TextPlaces | undefined;

  /** `file` is set for a referenced file, `start` for a text that is a part of its file. */
  constructor(text: string, { file, start }: { readonly file?: string; readonly start?: Start } = {}) {
    this.#text = text;
    this.#file = file;
    this.#start = start;
  }

  /** The problems of the value at a path. One at or below a refused value is dropped: it follows from that one. */
  at(path: Path): Problems {
    return problemsAt(path, (below, message) => {
      if (!this.isRefused(below)) this.add(below, message);
    });
  }

  /** Whether a value at or around the path is refused. */
  isRefused(path: Path): boolean {
    return this.#refused.size > 0 && [[], ...path].some((_, at) => this.#refused.has(formatPath(path.slice(0, at))));
  }

  /** For decoding the value at a path: values that have a problem are refused. */
  refusing(path: Path): Problems {
    return problemsAt(path, (below, message) => {
      this.add(below, message);
      this.#refused.add(formatPath(below));
    });
  }

  add(path: Path, message: string): void {
    this.addAt(this.#placeOf(path), path, message);
  }

  /** The place is the key. */
  addUnknownField(path: Path): void {
    const [object, name] = [path.slice(0, -1), formatPath(path.slice(-1))];
    const place = this.#inFile(this.#find().ofKey(namesOf(object), name));
    this.addAt(place, object, `unknown field ${describeName(name)}`);
  }

  problemAt(path: Path, message: string, text: string): Problem {
    return { text, file: this.#file, place: this.#placeOf(path), path, message };
  }

  /** `place` is relative to the file, not to `start`. */
  addAt(place: Place | undefined, path: Path, message: string): void {
    const below = formatPath(path);
    const named = this.#start ? [this.#start.name, below].filter((part) => part !== '').join('.') : below;
    const text = named === '' ? message : `${named}: ${message}`;
    this.problems.push({ text, file: this.#file, place, path, message });
  }

  /** A key that looks like no field is not shown: in `key:SECRET`, with the space forgotten, it contains a secret. */
  addDuplicateKeys(): void {
    for (const { name, ...place } of this.#find().duplicateKeys) {
      const inFile = this.#inFile(place);
      const message = `the key ${fieldName.test(name) ? `"${name}" ` : ''}is already set in this map`;
      this.problems.push({
        text: `line ${inFile.line}: ${message}`,
        file: this.#file,
        place: inFile,
        path: [],
        message,
      });
    }
  }

  addCertificates(path: Path, pem: string): void {
    this.certificates.push({ pem, file: this.#file, place: this.#placeOf(path), path });
  }

  /** Adds the findings of a referenced file; `inSentences` adapts their messages. */
  include(
    inner: { readonly problems: readonly Problem[]; readonly certificates?: readonly FoundCertificates[] },
    inSentences: (text: string) => string,
  ): void {
    this.problems.push(...inner.problems.map((problem) => ({ ...problem, text: inSentences(problem.text) })));
    this.certificates.push(...(inner.certificates ?? []));
  }

  /** Reads a file that the value at a path names; undefined if that is not possible. */
  async readFile(path: Path, name: string, read: () => Promise<Buffer>): Promise<Buffer | undefined> {
    try {
      return await read();
    } catch (error) {
      this.add(path, `cannot read ${name}: ${errorMessage(error)}`);
      return undefined;
    }
  }

  /** Adds the findings of a file that the value at a path names. */
  includeFile(path: Path, file: string, inner: Parameters<Findings['include']>[0]): void {
    this.include(inner, (text) => `${formatPath(path)}: Invalid value: ${JSON.stringify(file)}: ${text}`);
  }

  /** Throws a ConfigurationError if anything is wrong. */
  requireNoProblems(): void {
    if (this.problems.length > 0) throw new ConfigurationError(this.problems);
  }

  #placeOf(path: Path): Place {
    return this.#inFile(this.#find().of(namesOf(path)));
  }

  #find(): TextPlaces {
    return (this.#places ??= textPlaces(this.#text));
  }

  #inFile({ line, column }: Place): Place {
    if (!this.#start) return { line, column };
    return { line: line + this.#start.line - 1, column: line === 1 ? column + this.#start.indent : column };
  }
}

/** What a reader makes of a text. Throws a ConfigurationError with all problems. */
export function loadBy<T>(read: (text: string, findings: Findings) => T, text: string): T {
  const findings = new Findings(text);
  const loaded = read(text, findings);
  findings.requireNoProblems();
  return loaded;
}

const problemsAt = (path: Path, take: (path: Path, message: string) => void): Problems =>
  new Problems({ errors: [], count: 0, take }).at(...path);

/**
 * Field names are shorter; keys in base64, which must not be shown, have at least 24 letters. In `key:SECRET`, with the
 * space forgotten, the name contains a secret.
 */
const shownLettersMax = 20;
const describeName = (name: string): string =>
  name.length > shownLettersMax || name.includes(':') ? `of ${name.length} letters` : JSON.stringify(name);

const fieldName = /^[A-Za-z][A-Za-z-]{0,62}$/;

const namesOf = (path: Path): readonly (string | number)[] =>
  path.map((step) => (typeof step === 'object' ? step.key : step));
