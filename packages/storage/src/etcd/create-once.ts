/**
 * Creates a key at most once. "The key does not exist" can become true again: a delayed attempt, in the buffers of a stalled
 * member, would be applied after the key was created, reported and deleted by others. So each attempt also requires that a
 * fence key of its own does not exist. After an attempt without a response the fence key is written: from then on that
 * attempt cannot be applied, and whether it was is known once the feed has delivered the fence key. Then the create is
 * retried with another fence key. While all attempts get responses, no fence key is written.
 *
 * The value identifies the write, because each new object has its own UID.
 */
import { invariant } from '@cluster-apiserver/base';
import { PreconditionFailedError, StorageFullError, WriteInDoubtError } from '../errors.ts';
import { revision } from '../revision.ts';
import { readCurrent, type Write, type WriteDependencies, type WriteOutcome } from './conditional-write.ts';
import { type EtcdCall, MaybeAppliedError } from './retrying-call.ts';
import { conditionalWrite, fenceAndRead, isTxnResponse, type KeyValue } from './wire/key-value.ts';

/** Longer than a member may stall with a request in its buffers. There are few fence keys, on shared leases. */
const fenceSeconds = 3_600;

export async function createOnce(
  dependencies: WriteDependencies,
  write: Write,
  nextFenceKey: () => string,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const { client, leases } = dependencies;
  const { own, others } = write;
  const { key, stored: value } = own;
  for (;;) {
    const fenceKey = nextFenceKey();
    let maybeApplied: MaybeAppliedError;
    try {
      const { applied, header, current } = await leases.use(write.timeToLiveSeconds, call, (lease) =>
        client.call(
          conditionalWrite,
          { key, expected: 0, value, others, lease, fenceKey },
          { ...call, stopIfMaybeApplied: true },
        ),
      );
      // Only this function writes the fence key, and only below. So a precondition has failed.
      if (!applied && !current) throw new PreconditionFailedError(key, revision(header.revision));
      return applied ? { applied, revision: header.revision } : { applied, current };
    } catch (error) {
      // All earlier attempts are fenced, so none of them can be applied any more.
      if (error instanceof StorageFullError) return resolveWhenFull(dependencies, write, call, error);
      if (!(error instanceof MaybeAppliedError)) throw error;
      maybeApplied = error;
    }
    try {
      const fencing = fenceAttempt(dependencies, write, fenceKey, call).then((outcome) => {
        client.measures.attemptFenced();
        return outcome;
      });
      const outcome = await Promise.race([awaitLateOutcome(maybeApplied.lateResponse), fencing]);
      if (outcome) return outcome;
    } catch (cause) {
      throw new WriteInDoubtError(key, { cause });
    }
  }
}

/** The outcome of an attempt by its late response. Never resolves if the response proves nothing. */
async function awaitLateOutcome(late: Promise<unknown>): Promise<WriteOutcome> {
  const response = await late;
  invariant(isTxnResponse(response), 'the late response to a conditional write is another one');
  const { applied, header, current } = response;
  if (applied) return { applied, revision: header.revision };
  if (current) return { applied, current };
  // The attempt has met its fence key, which says only that it was fenced.
  return new Promise(() => {});
}

/**
 * etcd is out of space. It refuses a write before proposing it or, with the same error, after applying it. The present
 * value shows which; a create that others have deleted since counts as refused.
 */
async function resolveWhenFull(
  dependencies: WriteDependencies,
  write: Write,
  call: EtcdCall,
  refusal: StorageFullError,
): Promise<WriteOutcome> {
  const { header, values } = await readCurrent(dependencies.client, write, call);
  const [current] = values;
  if (!current) throw refusal;
  try {
    return (await resolve(dependencies, write, current, header.revision, call)) ?? { applied: false, current };
  } catch (cause) {
    throw new WriteInDoubtError(write.own.key, { cause });
  }
}

/** Fences an attempt without a response. Undefined if it was not applied and the create may be retried. */
async function fenceAttempt(
  dependencies: WriteDependencies,
  write: Write,
  fenceKey: string,
  call: EtcdCall,
): Promise<WriteOutcome | undefined> {
  try {
    const { current, header } = await dependencies.leases.use(fenceSeconds, call, (lease) =>
      dependencies.client.call(fenceAndRead, { fenceKey, lease, key: write.own.key }, call),
    );
    return (
      (await resolve(dependencies, write, current, header.revision, call)) ??
      (current && { applied: false, current, wasInDoubt: true })
    );
  } catch (error) {
    if (!(error instanceof StorageFullError)) throw error;
    // Without space etcd refuses the fence key, but the create may have been applied before.
    const [current] = (await readCurrent(dependencies.client, write, call)).values;
    if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
    throw error;
  }
}

/** What became of an attempt by this revision, when the key had this value; undefined if the attempt was not applied. */
async function resolve(
  { ownWrites }: WriteDependencies,
  write: Write,
  current: KeyValue | undefined,
  at: number,
  call: EtcdCall,
): Promise<WriteOutcome | undefined> {
  if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
  // The key has not been absent since.
  if (current && current.createRevision <= write.own.after) return { applied: false, current };
  const proof = await ownWrites.prove(write.own, at, call);
  return typeof proof === 'object' ? { applied: true, revision: proof.applied } : undefined;
}

const isOwnValue = ({ own }: Write, { modRevision, value }: KeyValue): boolean =>
  modRevision > own.after && own.isSame(value);
