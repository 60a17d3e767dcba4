/**
 * Creates a key at most once. "The key does not exist" can become true again: a delayed attempt, in the buffers of a stalled
 * member, would be applied after the key was created, reported and deleted by others. So each attempt also requires that a
 * fence key of its own does not exist. After an attempt without a response the fence key is written: from then on that
 * attempt cannot be applied, and whether it was can be read. Then the create is retried with another fence key. While all
 * attempts get responses, no fence key is written.
 *
 * The value identifies the write, because each new object has its own UID.
 */
import { invariant } from '@cluster-apiserver/base';
import { PreconditionFailedError, StorageFullError, WriteInDoubtError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { EtcdClient } from './client.ts';
import {
  acquireLease,
  isOwnValue,
  leaseLossesMax,
  readCurrent,
  type Write,
  type WriteDependencies,
  type WriteOutcome,
} from './conditional-write.ts';
import { isLeaseMissing } from './faults.ts';
import { findEvent } from './key-history.ts';
import { type EtcdCall, MaybeAppliedError } from './retrying-call.ts';
import {
  conditionalWrite,
  fenceAndRead,
  isTxnResponse,
  type KeyValue,
  range,
  type TxnResponse,
} from './wire/key-value.ts';

/** Longer than a member may stall with a request in its buffers. There are few fence keys, on shared leases. */
const fenceSeconds = 3_600;

export async function createOnce(
  { client, leases }: WriteDependencies,
  write: Write,
  nextFenceKey: () => string,
  call: EtcdCall,
): Promise<WriteOutcome> {
  for (let leaseLosses = 0; ; ) {
    const fenceKey = nextFenceKey();
    // The attempt can only be applied after this revision. Only the first call of a client has to read it.
    const knownRevision = client.history.revision || (await client.readLatestRevision(call));
    const lease = await acquireLease(leases, write, call);
    let maybeApplied: MaybeAppliedError;
    try {
      const { applied, header, current } = await client.call(
        conditionalWrite,
        { ...write, lease, fenceKey },
        { ...call, stopIfMaybeApplied: true },
      );
      // Only this function writes the fence key, and only below. So a precondition has failed.
      if (!applied && !current) throw new PreconditionFailedError(write.key, revision(header.revision));
      return applied ? { applied, revision: header.revision } : { applied, current };
    } catch (error) {
      // All earlier attempts are fenced, so none of them can be applied any more.
      if (isLeaseMissing(error) && leaseLosses++ < leaseLossesMax) {
        leases.forget(lease);
        continue;
      }
      if (error instanceof StorageFullError) return resolveWhenFull(client, write, knownRevision, call, error);
      if (!(error instanceof MaybeAppliedError)) throw error;
      maybeApplied = error;
    }
    try {
      const fencing = fenceAttempt({ client, leases }, write, { fenceKey, knownRevision }, call).then((outcome) => {
        client.measures.attemptFenced();
        return outcome;
      });
      const outcome = await Promise.race([awaitLateOutcome(maybeApplied.lateResponse), fencing]);
      if (outcome) return outcome;
    } catch (cause) {
      throw new WriteInDoubtError(write.key, { cause });
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
  client: EtcdClient,
  write: Write,
  knownRevision: number,
  call: EtcdCall,
  refusal: StorageFullError,
): Promise<WriteOutcome> {
  const current = await readCurrent(client, write, call);
  if (!current) throw refusal;
  if (isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
  if (current.createRevision <= knownRevision) return { applied: false, current };
  return resolveByHistory(client, write, current, knownRevision, call).catch((cause: unknown) => {
    throw new WriteInDoubtError(write.key, { cause });
  });
}

/** An attempt may have been applied, and the key changed since. The search ends with the present value. */
async function resolveByHistory(
  client: EtcdClient,
  write: Write,
  current: KeyValue,
  knownRevision: number,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const { current: found } = await findEvent(
    client,
    { key: write.key },
    { after: knownRevision, compactableTo: knownRevision },
    (event) => event.current.modRevision >= current.modRevision || isOwnWrite(write, event.current),
    call,
  );
  return isOwnWrite(write, found) ? { applied: true, revision: found.modRevision } : { applied: false, current };
}

/** Fences an attempt without a response. Undefined if it was not applied and the create may be retried. */
async function fenceAttempt(
  { client, leases }: WriteDependencies,
  write: Write,
  { fenceKey, knownRevision }: { readonly fenceKey: string; readonly knownRevision: number },
  call: EtcdCall,
): Promise<WriteOutcome | undefined> {
  let fence: TxnResponse;
  try {
    fence = await writeFence({ client, leases }, fenceKey, write.key, call);
  } catch (error) {
    if (!(error instanceof StorageFullError)) throw error;
    // Without space etcd refuses the fence key, but the create may have been applied before.
    const [current] = (await client.call(range, { key: write.key }, call)).values;
    if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
    throw error;
  }
  const { current, header } = fence;
  if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
  if (current && current.createRevision <= knownRevision) return { applied: false, current };
  if (current) return resolveByHistory(client, write, current, knownRevision, call);
  // The attempt may have been applied, and the key deleted since. The search covers both keys and ends with the event of the
  // fence key, which certainly exists; a watch of the key alone would have no certain end. It reads the events of all keys
  // between the two since the attempt: what etcd writes in some seconds, for each create whose response is overdue.
  const [first, last] =
    Buffer.compare(Buffer.from(fenceKey), Buffer.from(write.key)) < 0 ? [fenceKey, write.key] : [write.key, fenceKey];
  const found = await findEvent(
    client,
    { key: first, end: Buffer.from(`${last}\0`) },
    { after: knownRevision, compactableTo: knownRevision },
    (event) => event.current.modRevision >= header.revision || isOwnWrite(write, event.current),
    call,
  );
  return isOwnWrite(write, found.current) ? { applied: true, revision: found.current.modRevision } : undefined;
}

async function writeFence(
  { client, leases }: WriteDependencies,
  fenceKey: string,
  key: string,
  call: EtcdCall,
): Promise<TxnResponse> {
  for (let leaseLosses = 0; ; ) {
    const lease = await leases.acquire(fenceSeconds, call);
    try {
      return await client.call(fenceAndRead, { fenceKey, lease, key }, call);
    } catch (error) {
      if (!isLeaseMissing(error) || leaseLosses++ >= leaseLossesMax) throw error;
      leases.forget(lease);
    }
  }
}

const isOwnWrite = (write: Write, stored: KeyValue): boolean => stored.key === write.key && isOwnValue(write, stored);
