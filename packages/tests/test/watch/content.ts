import { hash } from 'node:crypto';
import type { ApiObject } from './view.ts';

/**
 * A digest of an object as clients receive it: the stored object with a resourceVersion. Independent of field order,
 * which has no meaning in JSON.
 */
export const contentOf = (object: ApiObject, revision: number): string =>
  hash(
    'sha1',
    JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } }, sortKeys),
    'base64',
  );

const sortKeys = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
