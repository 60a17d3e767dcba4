import {
  badRequest,
  type Kind,
  type KubeObject,
  mergedBy,
  PatchFormError,
  type Parsed,
  parseJson,
  patchedByOperations,
  readJsonPatch,
  StatusError,
  strategicallyMergedBy,
  TooManyOperationsError,
} from '@cluster-apiserver/model';
import { parseText } from '../body.ts';

/** A patch, read once: it may have to be carried out several times. */
export interface ReadPatch {
  /** From the present object to the next. */
  readonly change: (current: KubeObject) => unknown;
  /** What strict validation refuses in the patch itself, each as a sentence. */
  readonly faults: readonly string[];
}

export const patchTypes: Readonly<Record<string, (kind: Kind, body: Buffer) => ReadPatch>> = {
  'application/json-patch+json': (_, body) => {
    const { value, faults } = parsed(body);
    const patch = answering(() => readJsonPatch(value));
    const unknown = patch.unknownMembers.map((path) => `unknown field "${path}"`);
    return {
      change: (current) => patchedByOperations(current, patch),
      faults: [...faults.map(({ message }) => message), ...unknown].map((fault) => `json patch ${fault}`),
    };
  },
  'application/merge-patch+json': (_, body) => {
    const { patch, faults } = mapPatch(body);
    return { change: (current) => mergedBy(current, patch), faults };
  },
  'application/strategic-merge-patch+json': ({ schema }, body) => {
    const { patch, faults } = mapPatch(body);
    return { change: (current) => answering(() => strategicallyMergedBy(schema, current, patch)), faults };
  },
};

const parsed = (body: Buffer): Parsed => parseText(body, parseJson, 'error decoding patch');

function mapPatch(body: Buffer): { readonly patch: object; readonly faults: readonly string[] } {
  const { value, faults } = parsed(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('error decoding patch: the patch must be an object');
  return { patch: value, faults: faults.map(({ message }) => message) };
}

function answering<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof PatchFormError) throw badRequest(`error decoding patch: ${error.message}`, error);
    if (error instanceof TooManyOperationsError)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
        cause: error,
      });
    throw error;
  }
}
