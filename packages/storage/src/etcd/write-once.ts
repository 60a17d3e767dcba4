/**
 * A conditional write that happens at most once and is told the truth about. Its attempts all carry the condition, so
 * repeating one is harmless while the condition cannot come true again. When an attempt may have been applied and the
 * condition is broken, the history of the key says whether it was broken by ourselves.
 *
 * An update or a deletion expects a revision, and a revision never comes back. What it leaves does not tell by whom:
 * others may write the same bytes. So each writes a receipt along, to a key that many writers share: at the revision of
 * the write that key says whose it was.
 *
 * A creation expects nothing to be there, and that does come back: an attempt that lies in the buffers of a member
 * standing still would be applied after the key was created, told of, and deleted by others. So a creation also demands
 * that a key of its own, its seal, has no value. While all is well, no seal is ever written. An attempt in doubt is
 * sealed: from then on it cannot be applied, and whether it was can be read. Only then, and with another seal, is the
 * creation tried again. Its bytes are its receipt: each new object has a UID of its own.
 *
 * A full etcd refuses a write before it is proposed, or after it has been applied: it then gives the same answer. What is
 * there decides which of the two it was.
 *
 * What nobody can tell ends in a WriteInDoubtError, whatever else went wrong after the doubt.
 */
import { type Call, detach, throwIfAborted } from '@cluster-apiserver/base';
import { PreconditionFailedError, StorageFullError, StorageUnavailableError, WriteInDoubtError } from '../errors.ts';
import { equalsBytes, type Pieces } from '../pieces.ts';
import { revision } from '../revision.ts';
import type { Precondition } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { AttemptRecord, type EtcdCall, MaybeAppliedError } from './retrying-call.ts';
import { isLeaseMissing } from './faults.ts';
import { findEvent } from './key-history.ts';
import type { SharedLeases } from './leases.ts';
import { conditionalWrite, type KeyValue, type Receipt, range, fenceAndRead } from './wire/key-value.ts';

export interface Write {
  readonly key: string;
  /** When the key was last written; 0 when it must have no value. */
  readonly expected: number;
  /** Undefined deletes. */
  readonly value: Pieces | undefined;
  readonly timeToLiveSeconds?: number | undefined;
  readonly preconditions?: readonly Precondition[] | undefined;
}

/** The history is the one in which the write was decided on. */
export type WriteOnce = (write: Write, caller: Call, history: number) => Promise<WriteOutcome>;

export type WriteOutcome =
  | { readonly applied: true; readonly revision: number }
  | { readonly applied: false; readonly current: KeyValue | undefined };

/** Longer than a member may stand still with a request in its buffers. Seals are few: they live on shared leases. */
const fenceSeconds = 3_600;

/** Receipts are looked for at one revision, so writers can share a key; this many do not all write the same one. */
const receiptKeys = 64;

/** A lease that was lost with the data of a member is replaced; a second one in a row says that something else is wrong. */
const leaseLossesMax = 1;

interface Dependencies {
  readonly client: EtcdClient;
  readonly leases: SharedLeases;
}

export function createConditionalWriter(client: EtcdClient, leases: SharedLeases, ownPrefix: string): WriteOnce {
  const writerId = client.random.uuid();
  const receiptKey = `${ownPrefix}receipts/${client.random.below(receiptKeys)}`;
  const surroundings = { client, leases };
  let seals = 0;
  let receipts = 0;
  const nextFenceKey = (): string => `${ownPrefix}seals/${writerId}/${seals++}`;
  return async (write, caller, history) => {
    throwIfAborted(caller);
    // From the first attempt on it is done for its outcome: who left would else be the reason that nobody learns it.
    const call = { ...detach(caller), history };
    if (write.expected === 0)
      return create(surroundings, write, nextFenceKey, { ...call, sinceMs: client.stallAwareClock.nowMs() });
    return replace(surroundings, write, { key: receiptKey, value: `${writerId}/${receipts++}` }, call);
  };
}

async function create(
  { client, leases }: Dependencies,
  write: Write,
  nextSeal: () => string,
  call: EtcdCall,
): Promise<WriteOutcome> {
  for (let leaseLosses = 0; ; ) {
    const seal = nextSeal();
    let doubt: MaybeAppliedError;
    // Where the history of an attempt in doubt begins to matter. Asked for once in the life of a client.
    const knownRevision = client.history.revision || (await client.readLatestRevision(call));
    const lease = await acquireLease(leases, write, call);
    try {
      const { applied, header, current } = await client.call(
        conditionalWrite,
        { ...write, lease, fenceKey: seal },
        { ...call, stopIfMaybeApplied: true },
      );
      // Nobody but us writes the seal, and only below: so it was a premise that did not hold.
      if (!applied && !current) throw new PreconditionFailedError(write.key, revision(header.revision));
      return applied ? { applied, revision: header.revision } : { applied, current };
    } catch (error) {
      // No attempt before this one is in doubt: each of them was sealed.
      if (isLeaseMissing(error) && leaseLosses++ < leaseLossesMax) {
        leases.forget(lease);
        continue;
      }
      if (error instanceof StorageFullError) return resolveCreateWhenFull(client, write, knownRevision, call, error);
      if (!(error instanceof MaybeAppliedError)) throw error;
      doubt = error;
    }
    try {
      const sealing = fenceAttempt({ client, leases }, write, { seal, knownRevision }, call).then((outcome) => {
        client.measures.attemptFenced();
        return outcome;
      });
      const outcome = await Promise.race([awaitLateOutcome(doubt.lateResponse), sealing]);
      if (outcome) return outcome;
    } catch (cause) {
      throw new WriteInDoubtError(write.key, { cause });
    }
  }
}

/** The outcome of the attempt in doubt, if its answer comes before anything else is known. */
async function awaitLateOutcome(late: Promise<unknown>): Promise<WriteOutcome> {
  const { applied, header, current } = (await late) as ReturnType<typeof conditionalWrite.decode>; // the call that was in doubt
  if (applied) return { applied, revision: header.revision };
  if (current) return { applied, current };
  // It came to the seal, which says no more than that it was fenced off.
  return new Promise(() => {});
}

/** One that was created and has been deleted by others since counts as refused. */
async function resolveCreateWhenFull(
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
  const { current: found } = await findEvent(
    client,
    { key: write.key },
    { after: knownRevision, compactableTo: knownRevision },
    (event) => event.current.modRevision >= current.modRevision || isOwnWrite(write, event.current),
    call,
  ).catch((cause: unknown) => {
    throw new WriteInDoubtError(write.key, { cause });
  });
  return isOwnWrite(write, found) ? { applied: true, revision: found.modRevision } : { applied: false, current };
}

/** What is there after a write that has been applied, or never will be. */
async function readCurrent(client: EtcdClient, { key }: Write, call: EtcdCall): Promise<KeyValue | undefined> {
  try {
    return (await client.call(range, { key }, call)).values[0];
  } catch (cause) {
    throw new WriteInDoubtError(key, { cause });
  }
}

const acquireLease = async (leases: SharedLeases, { timeToLiveSeconds }: Write, call: EtcdCall): Promise<number> =>
  timeToLiveSeconds === undefined ? 0 : leases.acquire(timeToLiveSeconds, call);

/** Puts an end to an attempt in doubt. Undefined when it was not applied, and nothing stands in the way of another. */
async function fenceAttempt(
  { client, leases }: Dependencies,
  write: Write,
  { seal, knownRevision }: { readonly seal: string; readonly knownRevision: number },
  call: EtcdCall,
): Promise<WriteOutcome | undefined> {
  let sealing: Awaited<ReturnType<typeof writeFence>>;
  try {
    sealing = await writeFence({ client, leases }, seal, write.key, call);
  } catch (error) {
    if (!(error instanceof StorageFullError)) throw error;
    // A full store takes no seal. What is there may be ours all the same.
    const [current] = (await client.call(range, { key: write.key }, call)).values;
    if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
    throw error;
  }
  const { current, header } = sealing;
  if (current && isOwnValue(write, current)) return { applied: true, revision: current.modRevision };
  if (current && current.createRevision <= knownRevision) return { applied: false, current };
  // It may have been applied, and changed or deleted since. One watch over both keys tells the key's events before the
  // seal's, which is known to be there: a watch of the key alone could not be known to have come to its end.
  const [first, last] =
    Buffer.compare(Buffer.from(seal), Buffer.from(write.key)) < 0 ? [seal, write.key] : [write.key, seal];
  const found = await findEvent(
    client,
    { key: first, end: Buffer.from(`${last}\0`) },
    { after: knownRevision, compactableTo: knownRevision },
    (event) => event.current.modRevision >= header.revision || isOwnWrite(write, event.current),
    call,
  );
  if (isOwnWrite(write, found.current)) return { applied: true, revision: found.current.modRevision };
  return current && { applied: false, current };
}

async function writeFence({ client, leases }: Dependencies, seal: string, key: string, call: EtcdCall) {
  for (let leaseLosses = 0; ; ) {
    const lease = await leases.acquire(fenceSeconds, call);
    try {
      return await client.call(fenceAndRead, { fenceKey: seal, lease, key }, call);
    } catch (error) {
      if (!isLeaseMissing(error) || leaseLosses++ >= leaseLossesMax) throw error;
      leases.forget(lease);
    }
  }
}

async function replace(
  { client, leases }: Dependencies,
  write: Write,
  receipt: Receipt,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const known = client.history.revision || (await client.readLatestRevision(call));
  const doubts: UnresolvedAttempts = { withReceipt: new AttemptRecord(), withoutReceipt: new AttemptRecord() };
  const inDoubt = (): boolean => doubts.withReceipt.maybeApplied || doubts.withoutReceipt.maybeApplied;
  let withReceipt = true;
  for (let leaseLosses = 0; ; ) {
    let lease = 0;
    try {
      lease = await acquireLease(leases, write, call);
      const { applied, header, current } = await client.call(
        conditionalWrite,
        { ...write, lease, receipt: withReceipt ? receipt : undefined },
        { ...call, attempts: withReceipt ? doubts.withReceipt : doubts.withoutReceipt },
      );
      if (applied) return { applied, revision: header.revision };
      if (!inDoubt()) return { applied, current };
      return await findWinner(client, write, receipt, doubts, known, current, call);
    } catch (error) {
      // Every attempt has the same receipt, so it does not matter which of them is applied in the end.
      if (isLeaseMissing(error) && leaseLosses++ < leaseLossesMax) leases.forget(lease);
      else if (error instanceof StorageFullError && !inDoubt()) {
        const current = await readCurrent(client, write, call);
        if (!current || current.modRevision > write.expected)
          return await resolveAfterRefusal(client, write, receipt, doubts, known, call, error);
        // A full store takes no receipt, and deletions are what makes room in it.
        if (!withReceipt || write.value) throw error;
        withReceipt = false;
      } else if (error instanceof StorageFullError && withReceipt && !write.value) withReceipt = false;
      else if (!inDoubt()) throw error;
      else return await resolveAfterRefusal(client, write, receipt, doubts, known, call, error);
    }
  }
}

/** Attempts that may have been applied. */
interface UnresolvedAttempts {
  readonly withReceipt: AttemptRecord;
  readonly withoutReceipt: AttemptRecord;
}

/** Whatever came first after the state we expected broke the condition for everybody after it. */
async function findWinner(
  client: EtcdClient,
  write: Write,
  receipt: Receipt,
  doubts: UnresolvedAttempts,
  known: number,
  current: KeyValue | undefined,
  call: EtcdCall,
): Promise<WriteOutcome> {
  const first = await findEvent(
    client,
    { key: write.key },
    { after: write.expected, compactableTo: known },
    () => true,
    call,
  );
  const { modRevision } = first.current;
  const there = await client.call(range, { key: receipt.key, revision: modRevision }, call);
  const [found] = there.values;
  if (found?.modRevision === modRevision && found.value.toString() === receipt.value)
    return { applied: true, revision: modRevision };
  if (doubts.withoutReceipt.maybeApplied && first.deleted) throw new WriteInDoubtError(write.key);
  return { applied: false, current };
}

/** The last attempt was refused, and an earlier one may have been applied. */
async function resolveAfterRefusal(
  client: EtcdClient,
  write: Write,
  receipt: Receipt,
  doubts: UnresolvedAttempts,
  known: number,
  call: EtcdCall,
  refusal: unknown,
): Promise<WriteOutcome> {
  const inDoubt = (cause: unknown): WriteInDoubtError =>
    cause instanceof WriteInDoubtError ? cause : new WriteInDoubtError(write.key, { cause });
  // Without an answer there is nothing to be found out.
  if (refusal instanceof StorageUnavailableError) throw inDoubt(refusal);
  try {
    const [current] = (await client.call(range, { key: write.key }, call)).values;
    // It may still lie in the buffers of a member.
    if (current?.modRevision === write.expected) throw inDoubt(refusal);
    return await findWinner(client, write, receipt, doubts, known, current, call);
  } catch (error) {
    throw inDoubt(error);
  }
}

const isOwnValue = ({ value, expected }: Write, stored: KeyValue): boolean =>
  value !== undefined && stored.modRevision > expected && equalsBytes(value, stored.value);

const isOwnWrite = (write: Write, stored: KeyValue): boolean => stored.key === write.key && isOwnValue(write, stored);
