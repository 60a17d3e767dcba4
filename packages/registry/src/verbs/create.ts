import { type Call, chain, runTask, type Task } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Outcome } from '../outcome.ts';
import type { Resource } from '../resource.ts';
import { refuseVersionOfNew } from '../resource-version.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { generatedName } from '../write/generated-name.ts';
import { initializeObject, mutateNewObject, validateNewObject } from '../write/new-object.ts';
import { encodeObject, type NewObject, storeNewObject } from '../write/store-new-object.ts';
import type { WriteOptions } from '../write/write-options.ts';

/** How many names are tried for one `generateName`: with 27^5 of them a second try is rare and an eighth a sign. */
const generatedNameTriesMax = 8;

/** Implements "create" for every kind. */
export function create(resource: Resource, incoming: KubeObject, options: WriteOptions, call: Call): Promise<Outcome> {
  return withStatusErrors(async () => {
    const { clock, random } = resource;
    const drafted = runTask(clock, call, draftObject(resource, incoming, options));
    const draft = drafted instanceof Promise ? await drafted : drafted;
    const { resourceVersion } = incoming.metadata;
    const store = (named: KubeObject): Outcome | Promise<Outcome> =>
      chain(runTask(clock, call, prepareWrite(resource, named, resourceVersion, options, call)), (write) =>
        storeNewObject(resource, write, options, call),
      );
    const { name: given, generateName } = draft.metadata;
    if (given !== undefined && !generateName) return store(draft);
    // A client that sends both gets the same conflict as for a generated name.
    const triesMax = given === undefined ? generatedNameTriesMax : 1;
    for (let tries = 1; ; tries++) {
      const name = given ?? (generateName && generatedName(generateName, random));
      const named = { ...draft, metadata: { ...draft.metadata, ...(name && { name }) } };
      try {
        return await store(named);
      } catch (error) {
        if (!isTaken(error)) throw error;
        if (tries === triesMax) throw generatedNameConflict(error);
      }
    }
  });
}

function* draftObject(resource: Resource, incoming: KubeObject, options: WriteOptions): Task<KubeObject> {
  return yield* mutateNewObject(resource, yield* initializeObject(resource, incoming, options), options);
}

function* prepareWrite(
  resource: Resource,
  named: KubeObject,
  version: string | undefined,
  options: WriteOptions,
  call: Call,
): Task<NewObject> {
  const decided = yield* validateNewObject(resource, named, options);
  refuseVersionOfNew(version);
  yield;
  return options.dryRun ? { decided } : { decided, stored: yield* encodeObject(resource, decided, call) };
}

const isTaken = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.reason === 'AlreadyExists';

const generatedNameConflict = (last: StatusError): StatusError =>
  new StatusError(
    'AlreadyExists',
    `${last.message}, the server was not able to generate a unique name for the object`,
    { ...last.details, retryAfterSeconds: 1 },
    { cause: last },
  );
