/** Deletes old requests for certificates: programs create them again and again. */
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '@cluster-apiserver/kinds';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import { deleteObject } from '@cluster-apiserver/registry';
import { unlessGone } from '../change-object.ts';
import { callsOf, followAll, isLoaded, itemsWithin, readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { createPace } from '../pace.ts';
import { createPasses } from '../passes.ts';
import type { ControllerOptions } from '../run-controller.ts';

/** Periods as in Kubernetes. */
const hourMs = 3_600_000;
const passIntervalMs = hourMs;
const decidedMs = hourMs;
const pendingMs = 24 * hourMs;

/** Looks now and every hour, until the signal aborts. */
export async function cleanRequests({ api, clock, signal, log }: ControllerOptions): Promise<void> {
  const requests = api.current.byGroupKind('certificates.k8s.io', 'CertificateSigningRequest');
  if (!requests || signal.aborted) return;
  const pace = createPace(clock, signal);
  const passes = createPasses(clock, signal);
  const call = callsOf(clock, signal);
  let cancel = (): void => {};
  const requestAlways = (): void => {
    passes.request();
    cancel = clock.after(passIntervalMs, requestAlways);
  };
  // A load is the first time that there is something to see.
  const unfollow = followAll([requests], {
    changed: () => {},
    interrupted: passes.request,
    failed: passes.fail,
  });
  requestAlways();
  try {
    await passes.run(async () => {
      if (!isLoaded([requests])) return;
      for (const item of itemsWithin(requests.collection.view(), '')) {
        if (pace.isDue()) await pace.pause();
        const stored = readable(item);
        if (!stored) continue;
        const reason = findReasonToDelete(requireKind(stored.object, 'CertificateSigningRequest'), clock.now());
        if (reason === undefined) continue;
        const { name, uid, revision } = stored;
        const preconditions = { uid, resourceVersion: String(revision) };
        await unlessGone(deleteObject(requests, name, { namespace: undefined, dryRun: false, preconditions }, call()));
        log.debug(2, 'deleted an old request for a certificate', { request: name, reason });
      }
    });
  } finally {
    cancel();
    unfollow();
  }
}

/** Undefined for a request that is kept. */
export function findReasonToDelete({ metadata, status }: CertificateSigningRequest, nowMs: number): string | undefined {
  const { conditions = [], certificate } = status;
  const isOlder = (time: string | null | undefined, ageMs: number): boolean =>
    typeof time === 'string' && nowMs - Date.parse(time) > ageMs;
  const isDecided = (type: string, ageMs: number): boolean =>
    conditions.some((condition) => condition.type === type && isOlder(condition.lastUpdateTime, ageMs));
  if (isDecided('Denied', decidedMs)) return 'denied';
  if (isDecided('Failed', decidedMs)) return 'failed';
  if (isDecided('Approved', certificate ? decidedMs : pendingMs)) return certificate ? 'issued' : 'never issued';
  if (conditions.length === 0 && isOlder(metadata.creationTimestamp, pendingMs)) return 'never decided';
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  return isApproved && certificate && hasExpired(certificate, nowMs) ? 'expired' : undefined;
}

/** Anything but a certificate has been there before, or was written by another signer. */
function hasExpired(base64: string, nowMs: number): boolean {
  try {
    return new X509Certificate(decodeBase64(base64) ?? Buffer.alloc(0)).validToDate.getTime() < nowMs;
  } catch {
    return false;
  }
}
