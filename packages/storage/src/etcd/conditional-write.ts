/**
 * What creates, updates and deletions have in common: conditional writes that happen at most once and report their true
 * outcome. All attempts of a write have its condition. If one may have been applied and the condition no longer holds, the
 * feed of this replica shows whether this write or another one broke it: see `own-writes.ts`. An outcome that cannot be
 * determined is a WriteInDoubtError.
 */
import { WriteInDoubtError } from '../errors.ts';
import type { EtcdClient } from './client.ts';
import type { SharedLeases } from './leases.ts';
import type { OwnWrite, OwnWrites } from './own-writes.ts';
import type { EtcdCall } from './retrying-call.ts';
import { type KeyValue, type OtherKey, range, type RangeResponse } from './wire/key-value.ts';

export interface Write {
  readonly own: OwnWrite;
  readonly timeToLiveSeconds?: number | undefined;
  readonly others?: readonly OtherKey[] | undefined;
}

export type WriteOutcome =
  | { readonly applied: true; readonly revision: number }
  | {
      readonly applied: false;
      readonly current: KeyValue | undefined;
      /** Whether that had to be proved, because an attempt got no response. */
      readonly wasInDoubt?: boolean;
    };

export interface WriteDependencies {
  readonly client: EtcdClient;
  readonly leases: SharedLeases;
  readonly ownWrites: OwnWrites;
}

/** Reads the present value while an earlier attempt may have been applied. So a failure leaves the outcome unknown. */
export async function readCurrent(client: EtcdClient, { own: { key } }: Write, call: EtcdCall): Promise<RangeResponse> {
  try {
    return await client.call(range, { key }, call);
  } catch (cause) {
    throw new WriteInDoubtError(key, { cause });
  }
}
