import type { RequestOptions } from '@cluster-apiserver/testkit/api-client';
import { type Action, operationIdPath, counterPath, type FieldPath, type Read, type Values } from './history.ts';
import { collectionPath, locate } from './judged-resources.ts';

export type Listing = Extract<Read, { verb: 'list' }>;
export type Single = Exclude<Action, Listing>;

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly options?: RequestOptions;
}

/** The HTTP request of an action. */
export function requestFor(action: Single): Request {
  const { resource, namespace, objectName: name } = locate(action.name);
  const { apiVersion, kind } = resource;
  const collection = collectionPath(resource, namespace);
  const type = resource.isCustom ? { apiVersion, kind } : {};
  const path = `${collection}/${name}`;
  const patch = (type: string, body: object, query = ''): Request => ({
    method: 'PATCH',
    path: path + query,
    options: { body, contentType: `application/${type}` },
  });
  switch (action.verb) {
    case 'get':
      return { method: 'GET', path };
    case 'delete':
      return { method: 'DELETE', path };
    case 'create':
      return { method: 'POST', path: collection, options: { body: { ...type, ...objectOf(action.values, { name }) } } };
    case 'replace':
      return {
        method: 'PUT',
        path,
        options: { body: { ...type, ...objectOf(action.values, { name, ...resourceVersionOf(action) }) } },
      };
    case 'merge':
      return patch('merge-patch+json', objectOf(action.values, resourceVersionOf(action)));
    case 'strategic': {
      const { secrets = [], ...rest } = objectOf(action.values, resourceVersionOf(action));
      const removed = action.removed.map((place) => ({ ...secretAt(place), $patch: 'delete' }));
      return patch('strategic-merge-patch+json', { ...rest, secrets: [...secrets, ...removed] });
    }
    case 'count':
      return patch('json-patch+json', operationsOf(action));
    case 'apply': {
      const { manager, force, values } = action;
      const body = {
        apiVersion,
        kind,
        ...objectOf(values, { name, ...resourceVersionOf(action) }),
      };
      return patch('apply-patch+yaml', body, `?fieldManager=${manager}&force=${force}`);
    }
  }
}

interface Sent {
  readonly metadata: object;
  /** Absent without secrets: an empty list would remove all. */
  readonly secrets?: readonly { readonly name: string }[];
}

function objectOf(values: Values, metadata: object): Sent {
  const below = (prefix: string): (readonly [string, string])[] =>
    Object.entries(values).flatMap(([place, value]) =>
      place.startsWith(prefix) ? [[place.slice(prefix.length), value] as const] : [],
    );
  const [annotations, labels] = ['annotations/', 'labels/'].map((prefix) => Object.fromEntries(below(prefix)));
  const secrets = below('secrets/').map(([name]) => ({ name }));
  return { metadata: { ...metadata, annotations, labels }, ...(secrets.length > 0 && { secrets }) };
}

const resourceVersionOf = ({ expected }: { readonly expected: number | undefined }): object =>
  expected === undefined ? {} : { resourceVersion: `${expected}` };

const secretAt = (place: FieldPath): { name: string } => ({ name: place.slice('secrets/'.length) });

/** A counter before the first increment reads as null. `add` writes an id whether or not the field exists. */
const operationsOf = ({ values, counted, expected }: Extract<Action, { verb: 'count' }>): object[] => [
  { op: 'test', path: pointerTo(counterPath), value: counted ?? null },
  { op: 'replace', path: pointerTo(counterPath), value: `${Number(counted ?? 0) + 1}` },
  { op: 'add', path: pointerTo(operationIdPath), value: values[operationIdPath] },
  ...(expected === undefined ? [] : [{ op: 'replace', path: '/metadata/resourceVersion', value: `${expected}` }]),
];

const pointerTo = (place: FieldPath): string => `/metadata/${place}`;
