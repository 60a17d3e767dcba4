/**
 * Updates or deletes a key at most once. The expected revision never returns, so retrying is harmless. But if an attempt
 * without a response may have been applied and the revision no longer matches, the value does not show who has changed it.
 * The feed does: the first change after the expected revision is the only one that can have met the condition.
 */
import { StorageFullError, StorageUnavailableError, WriteInDoubtError } from '../errors.ts';
import { readCurrent, type Write, type WriteDependencies, type WriteOutcome } from './conditional-write.ts';
import { AttemptRecord, type EtcdCall } from './retrying-call.ts';
import { conditionalWrite, type KeyValue } from './wire/key-value.ts';

export async function replaceOnce(
  dependencies: WriteDependencies,
  write: Write,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const { client, leases } = dependencies;
  const { key, after: expected, stored: value } = write.own;
  const attempts = new AttemptRecord();
  try {
    // Whichever attempt is applied, it is the same write.
    const { applied, header, current } = await leases.use(write.timeToLiveSeconds, call, (lease) =>
      client.call(conditionalWrite, { key, expected, value, lease }, { ...call, attempts }),
    );
    if (applied) return { applied, revision: header.revision };
    if (!attempts.maybeApplied) return { applied, current };
    return await resolve(dependencies, write, current, header.revision, call);
  } catch (error) {
    // Without space etcd gives this error to a write that it refuses, and to one that it has applied.
    if (!attempts.maybeApplied && !(error instanceof StorageFullError)) throw error;
    return resolveAfterError(dependencies, write, attempts, error, call);
  }
}

/**
 * Whether this write came first after the expected revision; by the revision `at` one had. If the feed says nothing, it had
 * delivered that change before this write began.
 */
async function resolve(
  { ownWrites }: WriteDependencies,
  { own }: Write,
  current: KeyValue | undefined,
  at: number,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const proof = await ownWrites.prove(own, at, call);
  return typeof proof === 'object'
    ? { applied: true, revision: proof.applied }
    : { applied: false, current, wasInDoubt: true };
}

/** The last attempt failed, and it or an earlier one may have been applied. */
async function resolveAfterError(
  dependencies: WriteDependencies,
  write: Write,
  attempts: AttemptRecord,
  error: unknown,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const { key, after: expected } = write.own;
  const inDoubt = (cause: unknown): WriteInDoubtError =>
    cause instanceof WriteInDoubtError ? cause : new WriteInDoubtError(key, { cause });
  // An unavailable etcd cannot tell the outcome.
  if (error instanceof StorageUnavailableError) throw inDoubt(error);
  const { header, values } = await readCurrent(dependencies.client, write, call);
  const [current] = values;
  if (current && current.modRevision <= expected) {
    // An attempt may still be in the buffers of a member.
    throw attempts.maybeApplied ? inDoubt(error) : error;
  }
  try {
    return await resolve(dependencies, write, current, header.revision, call);
  } catch (cause) {
    throw inDoubt(cause);
  }
}
