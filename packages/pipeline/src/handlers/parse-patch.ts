import { getOwn, toSyncTask, type SyncTask } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import { boundsOfKind, type JsonBounds, type Parsed, type TextFault } from '@cluster-apiserver/model/json';
import type { ApiVersion, KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import {
  applyMergePatch,
  PatchFormError,
  applyJsonPatch,
  jsonPatchBounds,
  readJsonPatch,
  applyStrategicMergePatch,
  TooManyOperationsError,
} from '@cluster-apiserver/model/patch';
import { parseJsonBody, rejectUnparsable } from '../request-body/body-formats.ts';
import { unknownFieldMessage } from '../request-body/field-validation.ts';

/** The media type of apply, which is no change of an object but the wish for one. */
export const applyType = 'application/apply-patch+yaml';
/** Custom kinds lack the rules by which such a patch merges lists. */
const strategicType = 'application/strategic-merge-patch+json';

/** A parsed patch. It is applied again after a conflict. */
interface ParsedPatch {
  /** Applies the patch to the current object. */
  readonly change: (current: KubeObject) => SyncTask<unknown>;
  /** Problems for strict field validation. */
  readonly faults: readonly TextFault[];
}

/** A patch as it was received. One that could not be parsed is refused when it is applied. */
interface ReceivedPatch extends ParsedPatch {
  readonly isParsed: boolean;
}

type PatchParser<Result> = (kind: ApiVersion, body: Buffer) => SyncTask<Result>;

const patchParsers: Readonly<Record<string, PatchParser<ParsedPatch>>> = {
  'application/json-patch+json': function* (kind, body) {
    const { value, faults } = yield* parsePatchBody(body, { ...jsonPatchBounds, ...boundsOfKind(kind) });
    yield;
    const patch = rejectMalformedPatch(() => readJsonPatch(value));
    yield;
    const messages = [...faults.map(({ message }) => message), ...patch.unknownMembers.map(unknownFieldMessage)];
    return {
      change: (current) => applyJsonPatch(current, patch),
      faults: messages.map((message) => ({ path: undefined, message: `json patch ${message}` })),
    };
  },
  'application/merge-patch+json': function* (kind, body) {
    const { patch, faults } = yield* parseMergePatch(kind, body);
    return { change: toSyncTask((current) => applyMergePatch(current, patch)), faults };
  },
  [strategicType]: function* (kind, body) {
    const { schema } = kind;
    const { patch, faults } = yield* parseMergePatch(kind, body);
    const change = (current: KubeObject): unknown =>
      rejectMalformedPatch(() => applyStrategicMergePatch(schema, current, patch));
    return { change: toSyncTask(change), faults };
  },
};

const parsePatchBody = (body: Buffer, bounds: JsonBounds): SyncTask<Parsed> =>
  rejectUnparsable(parseJsonBody(body, bounds), 'error decoding patch');

function* parseMergePatch(
  kind: ApiVersion,
  body: Buffer,
): SyncTask<{ readonly patch: object; readonly faults: readonly TextFault[] }> {
  const { value, faults } = yield* parsePatchBody(body, boundsOfKind(kind));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('error decoding patch: the patch must be an object');
  return { patch: value, faults };
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

/** As in kube-apiserver: that there is no object comes first. */
function* refuseWhenApplied(parsing: SyncTask<ParsedPatch>): SyncTask<ReceivedPatch> {
  try {
    return { ...(yield* parsing), isParsed: true };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const change = toSyncTask((): never => {
      throw error;
    });
    return { change, faults: [], isParsed: false };
  }
}

/** Throws a StatusError if the kind takes no patches of this type. */
export function patchParserOf({ isCustom }: Pick<ServedKind, 'isCustom'>, type: string): PatchParser<ReceivedPatch> {
  const types = Object.keys(patchParsers).filter((one) => !isCustom || one !== strategicType);
  const parser = types.includes(type) ? getOwn(patchParsers, type) : undefined;
  if (parser) return (kind, body) => refuseWhenApplied(parser(kind, body));
  // The router of kube-apiserver refuses it for kinds in Go, and the handler for others.
  if (!isCustom) throw new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', {});
  throw new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${[...types, applyType].join(', ')}`,
  );
}
