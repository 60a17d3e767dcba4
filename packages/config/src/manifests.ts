import { isRawNumber } from '@cluster-apiserver/model';
import { ConfigurationError, Findings, type Problem } from './findings.ts';
import { parseText } from './load.ts';

/** An object of a manifest file. */
export interface Manifest {
  /** Where it is in the file, for faults; empty if it is the only one. */
  readonly place: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** What is wrong at a path of the object; `text` is the whole sentence. */
  readonly problem: (path: string, message: string, text: string) => Problem;
}

const separator = /^---[ \t]*\r?$/m;

/**
 * The objects of a file in YAML or JSON, those of its lists too. Throws a ConfigurationError with everything that is
 * wrong. `file` is for problems that are to name it.
 */
export function readManifests(text: string, file?: string): readonly Manifest[] {
  const documents = text.split(separator);
  const problems: Problem[] = [];
  const manifests: Manifest[] = [];
  let linesBefore = 0;
  for (const [index, document] of documents.entries()) {
    // The lines of problems are those of the file.
    const inFile = '\n'.repeat(linesBefore) + document;
    const findings = new Findings(inFile, file === undefined ? {} : { file });
    const value = parseText(inFile, findings);
    linesBefore += document.split('\n').length - 1;
    if (value !== null && value !== undefined)
      manifests.push(
        ...objectsIn(value, { place: documents.length > 1 ? `document ${index + 1}` : '', path: '', findings }),
      );
    problems.push(...findings.problems);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return manifests;
}

/** Where an object is: in sentences, and from the root of its document. */
interface Where {
  readonly place: string;
  readonly path: string;
  readonly findings: Findings;
}

function objectsIn(value: unknown, where: Where, fallback: Partial<Manifest> = {}): Manifest[] {
  const { place, path, findings } = where;
  const tell = (problem: string): Manifest[] => {
    findings.addWithoutPath(path, place === '' ? problem : `${place}: ${problem}`);
    return [];
  };
  if (!isObject(value)) return tell('expected an object');
  const { apiVersion = fallback.apiVersion, kind = fallback.kind, items } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return tell('apiVersion and kind are required');
  if (!kind.endsWith('List'))
    return [
      {
        place,
        apiVersion,
        kind,
        value: { ...value, apiVersion, kind },
        problem: (below, message, text) =>
          findings.problemAt([path, below].filter((part) => part !== '').join('.'), message, text),
      },
    ];
  if (!Array.isArray(items)) return tell('items: expected a list');
  // Objects in a list of one kind leave out what they are.
  const ofItems = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item: unknown, index) => {
    const name = `items[${index}]`;
    return objectsIn(
      item,
      { place: `${place === '' ? '' : `${place}: `}${name}`, path: path === '' ? name : `${path}.${name}`, findings },
      ofItems,
    );
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
