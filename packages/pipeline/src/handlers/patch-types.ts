import { toSyncTask, type SyncTask } from '@cluster-apiserver/base';
import {
  badRequest,
  type Kind,
  type KubeObject,
  applyMergePatch,
  PatchFormError,
  type Parsed,
  applyJsonPatch,
  readJsonPatch,
  StatusError,
  applyStrategicMergePatch,
  TooManyOperationsError,
} from '@cluster-apiserver/model';
import { json, readable } from '../body.ts';

/** A patch, read once: it may have to be carried out several times. */
export interface ReadPatch {
  /** From the present object to the next. */
  readonly change: (current: KubeObject) => SyncTask<unknown>;
  /** What strict validation refuses in the patch itself, each as a sentence. */
  readonly faults: readonly string[];
}

export const patchTypes: Readonly<Record<string, (kind: Kind, body: Buffer) => SyncTask<ReadPatch>>> = {
  'application/json-patch+json': function* (_, body) {
    const { value, faults } = yield* parsed(body);
    yield;
    const patch = answering(() => readJsonPatch(value));
    const unknown = patch.unknownMembers.map((path) => `unknown field "${path}"`);
    return {
      change: (current) => applyJsonPatch(current, patch),
      faults: [...faults.map(({ message }) => message), ...unknown].map((fault) => `json patch ${fault}`),
    };
  },
  'application/merge-patch+json': function* (_, body) {
    const { patch, faults } = yield* mapPatch(body);
    return { change: toSyncTask((current) => applyMergePatch(current, patch)), faults };
  },
  'application/strategic-merge-patch+json': function* ({ schema }, body) {
    const { patch, faults } = yield* mapPatch(body);
    const change = (current: KubeObject): unknown => answering(() => applyStrategicMergePatch(schema, current, patch));
    return { change: toSyncTask(change), faults };
  },
};

const parsed = (body: Buffer): SyncTask<Parsed> => readable(json(body), 'error decoding patch');

function* mapPatch(body: Buffer): SyncTask<{ readonly patch: object; readonly faults: readonly string[] }> {
  const { value, faults } = yield* parsed(body);
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
