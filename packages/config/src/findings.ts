import { type Place, type TextPlaces, textPlaces } from '@cluster-apiserver/model';

/** Something that is wrong with a file. */
export interface Problem {
  /** The whole sentence, beginning with the path into the file that was loaded. */
  readonly text: string;
  /** Set if it is in another file, which the loaded one names. */
  readonly file: string | undefined;
  /** In that file. */
  readonly place: Place | undefined;
  readonly path: string;
  readonly message: string;
}

/** A certificate, or several of them in PEM, and where it was found. */
export interface FoundCertificates {
  readonly pem: string;
  readonly file: string | undefined;
  readonly place: Place | undefined;
  readonly path: string;
}

/** Everything that is wrong with a configuration, each as a sentence that begins with a path into its file. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly faults: readonly string[];
  readonly problems: readonly Problem[];
  constructor(problems: readonly (string | Problem)[]) {
    const all = problems.map((one) => (typeof one === 'string' ? problemOfFile(one) : one));
    // A field that says two things is read twice, and what is wrong with it is said once.
    const byText = new Map(all.map((problem) => [problem.text, problem]));
    super([...byText.keys()].join('\n'));
    this.faults = [...byText.keys()];
    this.problems = [...byText.values()];
  }
}

/** What concerns a file as a whole. */
const problemOfFile = (text: string): Problem => ({
  text,
  file: undefined,
  place: undefined,
  path: '',
  message: text,
});

/** Where a text begins that is a part of its file. */
export interface Start {
  /** From one. */
  readonly line: number;
  /** How many characters are before it in that line. */
  readonly indent: number;
  /** What its paths begin with in sentences. */
  readonly name: string;
}

/** What is found while a file is read. Places are looked up when something is wrong, and not before. */
export class Findings {
  readonly problems: Problem[] = [];
  readonly certificates: FoundCertificates[] = [];
  readonly #file: string | undefined;
  readonly #text: string;
  readonly #start: Start | undefined;
  #places: TextPlaces | undefined;

  /** `file` for one that the loaded file names; `start` for a text that is a part of its file. */
  constructor(text: string, { file, start }: { readonly file?: string; readonly start?: Start } = {}) {
    this.#text = text;
    this.#file = file;
    this.#start = start;
  }

  /** With `key`, it is about that key of the map at the path. */
  add(path: string, message: string, key?: string): void {
    const steps = stepsOf(path);
    const place = key === undefined ? this.#find().of(steps) : this.#find().ofKey(steps, key);
    this.addAt(this.#inFile(place), path, message);
  }

  /** The same for sentences that say enough by themselves. */
  addWithoutPath(path: string, message: string): void {
    this.problems.push(this.problemAt(path, message, message));
  }

  problemAt(path: string, message: string, text: string): Problem {
    return { text, file: this.#file, place: this.#inFile(this.#find().of(stepsOf(path))), path, message };
  }

  /** `place` is one of the file. */
  addAt(place: Place | undefined, path: string, message: string): void {
    const named = this.#start ? [this.#start.name, path].filter((part) => part !== '').join('.') : path;
    const text = named === '' ? message : `${named}: ${message}`;
    this.problems.push({ text, file: this.#file, place, path, message });
  }

  /** Keys that are set twice. A key may be a secret that misses the blank behind its colon, so only its place is named. */
  addDuplicateKeys(): void {
    for (const place of this.#find().duplicateKeys) {
      const inFile = this.#inFile(place);
      const message = 'the key is already set in this map';
      this.problems.push({
        text: `line ${inFile.line}: ${message}`,
        file: this.#file,
        place: inFile,
        path: '',
        message,
      });
    }
  }

  addCertificates(path: string, pem: string): void {
    this.certificates.push({ pem, file: this.#file, place: this.#inFile(this.#find().of(stepsOf(path))), path });
  }

  /** What was found in another file, which the value at a path names; `inSentences` is what is said of it there. */
  include(
    inner: { readonly problems: readonly Problem[]; readonly certificates?: readonly FoundCertificates[] },
    inSentences: (text: string) => string,
  ): void {
    this.problems.push(...inner.problems.map((problem) => ({ ...problem, text: inSentences(problem.text) })));
    this.certificates.push(...(inner.certificates ?? []));
  }

  dropFrom(index: number, isToDrop: (problem: Problem) => boolean): void {
    this.problems.push(...this.problems.splice(index).filter((problem) => !isToDrop(problem)));
  }

  /** Throws a ConfigurationError if anything is wrong. */
  requireNoProblems(): void {
    if (this.problems.length > 0) throw new ConfigurationError(this.problems);
  }

  #find(): TextPlaces {
    return (this.#places ??= textPlaces(this.#text));
  }

  #inFile({ line, column }: Place): Place {
    if (!this.#start) return { line, column };
    return { line: line + this.#start.line - 1, column: line === 1 ? column + this.#start.indent : column };
  }
}

/** `jwt[0].issuer` as steps from the root. */
function stepsOf(path: string): readonly (string | number)[] {
  return Array.from(path.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g), ([, index, key, name]) =>
    index === undefined ? (key ?? name ?? '') : Number(index),
  );
}
