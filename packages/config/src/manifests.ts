import { isRawNumber } from '@cluster-apiserver/model';
import { parseText, requireNoFaults } from './load.ts';

/** An object of a manifest file. */
export interface Manifest {
  /** Where it is in the file, for faults; empty if it is the only one. */
  readonly place: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const separator = /^---[ \t]*\r?$/m;

/** The objects of a file in YAML or JSON, those of its lists too. Throws a ConfigurationError with everything that is wrong. */
export function readManifests(text: string): readonly Manifest[] {
  const documents = text.split(separator);
  const faults: string[] = [];
  const manifests: Manifest[] = [];
  let linesBefore = 0;
  for (const [index, document] of documents.entries()) {
    // The lines of faults are those of the file.
    const { value, faults: ofText } = parseText('\n'.repeat(linesBefore) + document);
    linesBefore += document.split('\n').length - 1;
    faults.push(...ofText);
    if (value === null || value === undefined) continue;
    manifests.push(...objectsIn(value, documents.length > 1 ? `document ${index + 1}` : '', faults));
  }
  requireNoFaults(faults);
  return manifests;
}

function objectsIn(value: unknown, place: string, faults: string[], fallback: Partial<Manifest> = {}): Manifest[] {
  const tell = (problem: string): Manifest[] => {
    faults.push(place === '' ? problem : `${place}: ${problem}`);
    return [];
  };
  if (!isObject(value)) return tell('expected an object');
  const { apiVersion = fallback.apiVersion, kind = fallback.kind, items } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return tell('apiVersion and kind are required');
  if (!kind.endsWith('List')) return [{ place, apiVersion, kind, value: { ...value, apiVersion, kind } }];
  if (!Array.isArray(items)) return tell('items: expected a list');
  // Objects in a list of one kind leave out what they are.
  const ofItems = kind === 'List' ? {} : { apiVersion, kind: kind.slice(0, -'List'.length) };
  return items.flatMap((item: unknown, index) =>
    objectsIn(item, `${place === '' ? '' : `${place}: `}items[${index}]`, faults, ofItems),
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
