/**
 * A conditional write that happens at most once and is told the truth about. Its attempts all carry the condition, so
 * repeating one is harmless while the condition cannot come true again. When an attempt may have been applied and the
 * condition is broken, the history of the key says whether it was broken by ourselves.
 *
 * An update or a deletion expects a revision, and a revision never comes back. A creation expects nothing to be there,
 * and that does come back: an attempt that lies in the buffers of a member standing still would be applied after the
 * key was created, told of, and deleted by others. So a creation also demands that a key of its own, its seal, has no
 * value. While all is well, no seal is ever written. An attempt in doubt is sealed: from then on it cannot be applied,
 * and whether it was can be read. Only then, and with another seal, is the creation tried again.
 *
 * What was deleted does not tell by whom. So each deletion writes a mark along, to one key for all of them: at the
 * revision of a deletion that key says whose it was.
 */
import { detached, throwIfAborted } from '@cluster-apiserver/base';
import { PremiseBrokenError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import { areBytes } from '../pieces.ts';
import { revision } from '../revision.ts';
import type { Call } from '../store.ts';
import { type EtcdCall, type EtcdClient, InDoubtError } from './client.ts';
import { isCompacted } from './faults.ts';
import { findEvent } from './key-history.ts';
import type { SharedLeases } from './leases.ts';
import { type ConditionalWrite, conditionalWrite, type KeyValue, range, sealAndRead } from './wire/key-value.ts';

export type WriteOnce = (write: ConditionalWrite, call: Call) => Promise<WriteOutcome>;

export type WriteOutcome =
  | { readonly applied: true; readonly revision: number }
  | { readonly applied: false; readonly current: KeyValue | undefined };

/** Longer than a member may stand still with a request in its buffers. Seals are few: they live on shared leases. */
const sealSeconds = 3_600;

export function writer(client: EtcdClient, leases: SharedLeases, ownPrefix: string): WriteOnce {
  const writerId = client.random.uuid();
  const sealPrefix = `${ownPrefix}seals/${writerId}/`;
  let seals = 0;
  let deletions = 0;
  const create = async (write: ConditionalWrite, call: EtcdCall): Promise<WriteOutcome> => {
    for (;;) {
      const seal = `${sealPrefix}${seals++}`;
      // Where the history of an attempt in doubt begins to matter. Asked for once in the life of a client.
      const knownRevision = client.headRevision || (await client.readHead(call));
      try {
        const { answer } = await client.call(conditionalWrite, { ...write, seal }, { ...call, stopInDoubt: true });
        client.sawRevision(answer.headRevision);
        // Nobody but us writes the seal, and only below: so it was a premise that did not hold.
        if (!answer.applied && !answer.current) throw new PremiseBrokenError(write.key, revision(answer.headRevision));
        return answer.applied
          ? { applied: true, revision: answer.headRevision }
          : { applied: false, current: answer.current };
      } catch (error) {
        if (!(error instanceof InDoubtError)) throw error;
      }
      const lease = await leases.leaseFor(sealSeconds, call);
      const outcome = await sealed(client, write, { seal, lease, knownRevision }, call);
      if (outcome) return outcome;
    }
  };
  return async (write, caller) => {
    throwIfAborted(caller);
    // From the first attempt on it is done for its outcome: who left would else be the reason that nobody learns it.
    const call = detached(caller);
    if (write.expected === 0) return create(write, { ...call, sinceMs: client.time.nowMs() });
    if (write.value !== undefined) return replace(client, write, call);
    const mark = { key: `${ownPrefix}deletion`, value: `${writerId}/${deletions++}` };
    return replace(client, { ...write, mark }, call).catch((error: unknown) => {
      // A full store takes no mark, and deletions are what makes room in it.
      if (error instanceof StorageFullError) return replace(client, write, call);
      throw error;
    });
  };
}

/** Puts an end to an attempt in doubt. Undefined when it was not applied, and nothing stands in the way of another. */
async function sealed(
  client: EtcdClient,
  write: ConditionalWrite,
  attempt: { readonly seal: string; readonly lease: number; readonly knownRevision: number },
  call: EtcdCall,
): Promise<WriteOutcome | undefined> {
  const { seal, lease, knownRevision } = attempt;
  const { answer } = await client.call(sealAndRead, { seal, lease, key: write.key }, call);
  client.sawRevision(answer.headRevision);
  const { current } = answer;
  if (current && isOurs(write, current)) return { applied: true, revision: current.modRevision };
  if (current && current.createRevision <= knownRevision) return { applied: false, current };
  // It may have been applied, and changed or deleted since. One watch over both keys tells the key's events before the
  // seal's, which is known to be there: a watch of the key alone could not be known to have come to its end.
  const [first, last] =
    Buffer.compare(Buffer.from(seal), Buffer.from(write.key)) < 0 ? [seal, write.key] : [write.key, seal];
  const found = await findEvent(
    client,
    { key: first, end: Buffer.from(`${last}\0`) },
    { after: knownRevision, known: knownRevision },
    (event) => event.current.modRevision >= answer.headRevision || isOursIn(write, event.current),
    call,
  );
  if (isOursIn(write, found.current)) return { applied: true, revision: found.current.modRevision };
  return current && { applied: false, current };
}

async function replace(client: EtcdClient, write: ConditionalWrite, call: Call): Promise<WriteOutcome> {
  const known = client.headRevision || (await client.readHead(call));
  const { answer, perhapsApplied } = await client.call(conditionalWrite, write, call);
  client.sawRevision(answer.headRevision);
  if (answer.applied) return { applied: true, revision: answer.headRevision };
  const { current } = answer;
  if (!perhapsApplied) return { applied: false, current };
  if (current && isOurs(write, current)) return { applied: true, revision: current.modRevision };
  // Whatever came first after the state we expected broke the condition for everybody behind it.
  const first = await findEvent(client, { key: write.key }, { after: write.expected, known }, () => true, call);
  const ours = first.deleted ? await isMarked(client, write, first.current, call) : isOurs(write, first.current);
  return ours ? { applied: true, revision: first.current.modRevision } : { applied: false, current };
}

/** Whether a deletion carries the mark of this write. */
async function isMarked(
  client: EtcdClient,
  { mark }: ConditionalWrite,
  deleted: KeyValue,
  call: Call,
): Promise<boolean> {
  if (!mark) return false;
  const { modRevision } = deleted;
  try {
    const { answer } = await client.call(range, { key: mark.key, revision: modRevision }, call);
    const [found] = answer.values;
    return found?.modRevision === modRevision && found.value.toString() === mark.value;
  } catch (cause) {
    if (!isCompacted(cause)) throw cause;
    throw new StorageUnavailableError(`whose deletion it was is gone with revision ${modRevision}`, { cause });
  }
}

const isOurs = ({ value, expected }: ConditionalWrite, stored: KeyValue): boolean =>
  value !== undefined && stored.modRevision > expected && areBytes(value, stored.value);

const isOursIn = (write: ConditionalWrite, stored: KeyValue): boolean =>
  stored.key === write.key && isOurs(write, stored);
