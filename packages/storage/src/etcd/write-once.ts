/**
 * Conditional writes that happen at most once and report their true outcome. All attempts of a write have its condition. If
 * one may have been applied and the condition no longer holds, the history of the key shows whether this write or another
 * one broke it: see `create-once.ts` and `replace-once.ts`. An outcome that cannot be determined is a WriteInDoubtError.
 */
import { detach, throwIfAborted } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import type { WriteOnce } from './conditional-write.ts';
import { createOnce } from './create-once.ts';
import type { SharedLeases } from './leases.ts';
import { replaceOnce } from './replace-once.ts';
import type { EtcdCall } from './retrying-call.ts';

/** Writers may share a receipt key, because receipts are read at one revision. Several keys spread the load. */
const receiptKeys = 64;

export function createConditionalWriter(client: EtcdClient, leases: SharedLeases, internalPrefix: string): WriteOnce {
  const writerId = client.random.uuid();
  const receiptKey = `${internalPrefix}receipts/${client.random.below(receiptKeys)}`;
  const dependencies = { client, leases };
  let fenceKeys = 0;
  let receipts = 0;
  // The name `seals` is older than the word "fence key"; other versions of the server use the same keys.
  const nextFenceKey = (): string => `${internalPrefix}seals/${writerId}/${fenceKeys++}`;
  return async (write, caller, historyNumber) => {
    throwIfAborted(caller);
    // From the first attempt on the write continues without its caller, because its outcome must become known.
    const call: EtcdCall = { ...detach(caller), historyNumber };
    if (write.expected === 0)
      return createOnce(dependencies, write, nextFenceKey, { ...call, sinceMs: client.stallAwareClock.nowMs() });
    return replaceOnce(dependencies, write, { key: receiptKey, value: `${writerId}/${receipts++}` }, call);
  };
}
