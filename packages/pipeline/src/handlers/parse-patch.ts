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
import { parseJsonBody, rejectUnparsable } from '../request-body/body-formats.ts';

/** A parsed patch. It is applied again after a conflict. */
export interface ParsedPatch {
  /** Applies the patch to the current object. */
  readonly change: (current: KubeObject) => SyncTask<unknown>;
  /** Problems for strict field validation, each as a sentence. */
  readonly problems: readonly string[];
}

export const patchParsers: Readonly<Record<string, (kind: Kind, body: Buffer) => SyncTask<ParsedPatch>>> = {
  'application/json-patch+json': function* (_, body) {
    const { value, faults: problems } = yield* parsePatchBody(body);
    yield;
    const patch = rejectMalformedPatch(() => readJsonPatch(value));
    const unknown = patch.unknownMembers.map((path) => `unknown field "${path}"`);
    return {
      change: (current) => applyJsonPatch(current, patch),
      problems: [...problems.map(({ message }) => message), ...unknown].map((fault) => `json patch ${fault}`),
    };
  },
  'application/merge-patch+json': function* (_, body) {
    const { patch, faults } = yield* parseMergePatch(body);
    return { change: toSyncTask((current) => applyMergePatch(current, patch)), problems: faults };
  },
  'application/strategic-merge-patch+json': function* ({ schema }, body) {
    const { patch, faults } = yield* parseMergePatch(body);
    const change = (current: KubeObject): unknown =>
      rejectMalformedPatch(() => applyStrategicMergePatch(schema, current, patch));
    return { change: toSyncTask(change), problems: faults };
  },
};

const parsePatchBody = (body: Buffer): SyncTask<Parsed> =>
  rejectUnparsable(parseJsonBody(body), 'error decoding patch');

function* parseMergePatch(body: Buffer): SyncTask<{ readonly patch: object; readonly faults: readonly string[] }> {
  const { value, faults } = yield* parsePatchBody(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('error decoding patch: the patch must be an object');
  return { patch: value, faults: faults.map(({ message }) => message) };
}

function rejectMalformedPatch<T>(read: () => T): T {
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
