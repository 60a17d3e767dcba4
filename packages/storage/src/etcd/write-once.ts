/**
 * A conditional write that happens at most once and is told the truth about. The condition makes repetition harmless:
 * when an attempt was applied and its answer lost, the next attempt finds the condition broken. Broken by whom? After
 * an attempt without an answer, and only then, the history of the key says whether it was our own write.
 */
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { findEvent } from './key-history.ts';
import { type ConditionalWrite, conditionalWrite, type KeyValue } from './wire/key-value.ts';

export type WriteOutcome =
  | { readonly applied: true; readonly revision: number }
  | { readonly applied: false; readonly current: KeyValue | undefined };

export async function writeOnce(
  client: EtcdClient,
  write: ConditionalWrite,
  call: Call,
): Promise<WriteOutcome> {
  const knownRevision = client.headRevision;
  const { answer, perhapsApplied } = await client.call(conditionalWrite, write, call);
  client.sawRevision(answer.headRevision);
  if (answer.applied) return { applied: true, revision: answer.headRevision };
  const revision = perhapsApplied
    ? await ownRevision(client, write, answer.current, knownRevision, call)
    : undefined;
  return revision === undefined ? { applied: false, current: answer.current } : { applied: true, revision };
}

/** The revision of our own earlier attempt, if it was applied. */
async function ownRevision(
  client: EtcdClient,
  write: ConditionalWrite,
  current: KeyValue | undefined,
  knownRevision: number,
  call: Call,
): Promise<number | undefined> {
  if (current && isOurs(write, current)) return current.modRevision;
  if (write.expected > 0) {
    // Whatever came first after the state we expected broke the condition for everybody behind it.
    const first = await findEvent(client, write.key, write.expected, () => true, call);
    const ours = write.value === undefined ? first.deleted : !first.deleted && isOurs(write, first.current);
    return ours ? first.current.modRevision : undefined;
  }
  if (!current || current.createRevision <= knownRevision) return undefined;
  // A creation may have been followed by changes, and even by a deletion and another creation.
  const last = current.modRevision;
  const seen = await findEvent(
    client,
    write.key,
    knownRevision,
    ({ deleted, current }) => current.modRevision >= last || (!deleted && isOurs(write, current)),
    call,
  );
  return !seen.deleted && isOurs(write, seen.current) ? seen.current.modRevision : undefined;
}

const isOurs = ({ value, expected }: ConditionalWrite, stored: KeyValue): boolean =>
  value !== undefined && stored.modRevision > expected && stored.value.equals(value);
