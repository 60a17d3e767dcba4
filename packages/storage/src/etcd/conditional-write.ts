/** What creates, updates and deletions have in common. */
import type { Call } from '@cluster-apiserver/base';
import { WriteInDoubtError } from '../errors.ts';
import { equalsBytes, type Pieces } from '../pieces.ts';
import type { Precondition } from '../store.ts';
import type { EtcdClient } from './client.ts';
import type { SharedLeases } from './leases.ts';
import type { EtcdCall } from './retrying-call.ts';
import { type KeyValue, range } from './wire/key-value.ts';

export interface Write {
  readonly key: string;
  /** The revision of the last write to the key; 0 if it must have no value. */
  readonly expected: number;
  /** Undefined for a deletion. */
  readonly value: Pieces | undefined;
  readonly timeToLiveSeconds?: number | undefined;
  readonly preconditions?: readonly Precondition[] | undefined;
}

/** `historyNumber` is that of the history on which the write was decided. */
export type WriteOnce = (write: Write, caller: Call, historyNumber: number) => Promise<WriteOutcome>;

export type WriteOutcome =
  | { readonly applied: true; readonly revision: number }
  | { readonly applied: false; readonly current: KeyValue | undefined };

export interface WriteDependencies {
  readonly client: EtcdClient;
  readonly leases: SharedLeases;
}

/** A lease that was lost with the data of a member is replaced. A second loss in a row has another cause. */
export const leaseLossesMax = 1;

/** Returns 0 for a value without a time to live. */
export const acquireLease = async (
  leases: SharedLeases,
  { timeToLiveSeconds }: Write,
  call: EtcdCall,
): Promise<number> => (timeToLiveSeconds === undefined ? 0 : leases.acquire(timeToLiveSeconds, call));

/** Reads the present value while an earlier attempt may have been applied. So a failure leaves the outcome unknown. */
export async function readCurrent(client: EtcdClient, { key }: Write, call: EtcdCall): Promise<KeyValue | undefined> {
  try {
    return (await client.call(range, { key }, call)).values[0];
  } catch (cause) {
    throw new WriteInDoubtError(key, { cause });
  }
}

/** Whether a stored value has the bytes of this write, after the revision that it expected. */
export const isOwnValue = ({ value, expected }: Write, stored: KeyValue): boolean =>
  value !== undefined && stored.modRevision > expected && equalsBytes(value, stored.value);
