import { formatPath, type Path } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { ConfigurationError, Findings, type Problem } from './findings.ts';
import { parseText } from './load.ts';

/** An object of a manifest file. */
export interface Manifest {
  /** Place in the file, for messages; empty if it is the only object. */
  readonly place: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** Makes a problem at a path of the object; `text` is the full message. */
  readonly problem: (path: Path, message: string, text: string) => Problem;
}

const separator = /^---[ \t]*\r?$/m;

/**
 * The objects of a YAML or JSON file, including those of its lists. Throws a ConfigurationError with all problems. With
 * `file`, problems name that file.
 */
export function readManifests(text: string, file?: string): readonly Manifest[] {
  const documents = text.split(separator);
  const problems: Problem[] = [];
  const manifests: Manifest[] = [];
  let linesBefore = 0;
  for (const [index, document] of documents.entries()) {
    // Padding makes the line numbers of problems those of the file.
    const inFile = '\n'.repeat(linesBefore) + document;
    const findings = new Findings(inFile, file === undefined ? {} : { file });
    const value = parseText(inFile, findings);
    linesBefore += document.split('\n').length - 1;
    if (value !== null && value !== undefined)
      manifests.push(
        ...readObjects(value, { place: documents.length > 1 ? `document ${index + 1}` : '', path: [], findings }),
      );
    problems.push(...findings.problems);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return manifests;
}

/** Where an object is: for messages, and as a path from the root of its document. */
interface ObjectPlace {
  readonly place: string;
  readonly path: Path;
  readonly findings: Findings;
}

function readObjects(value: unknown, where: ObjectPlace, fallback: Partial<Manifest> = {}): Manifest[] {
  const { place, path, findings } = where;
  const reportProblem = (problem: string): Manifest[] => {
    const message = place === '' ? problem : `${place}: ${problem}`;
    findings.problems.push(findings.problemAt(path, message, message));
    return [];
  };
  if (!isJsonObject(value)) return reportProblem('expected an object');
  const { apiVersion = fallback.apiVersion, kind = fallback.kind, items } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    return reportProblem('apiVersion and kind are required');
  if (!kind.endsWith('List'))
    return [
      {
        place,
        apiVersion,
        kind,
        value: { ...value, apiVersion, kind },
        problem: (below, message, text) => findings.problemAt([...path, ...below], message, text),
      },
    ];
  if (!Array.isArray(items)) return reportProblem('items: expected a list');
  // Items of a typed list may omit apiVersion and kind.
  const ofItems = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item: unknown, index) => {
    const inList = ['items', index];
    const named = `${place === '' ? '' : `${place}: `}${formatPath(inList)}`;
    return readObjects(item, { place: named, path: [...path, ...inList], findings }, ofItems);
  });
}
