/** Deletes old requests for certificates: programs create them again and again. */
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '@cluster-apiserver/kinds';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import type { StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { deleteUnlessChanged } from '../change-object.ts';
import { requireKind } from '../object-of-kind.ts';
import type { ControllerOptions } from '../run-controller.ts';
import { visitPeriodically } from '../visit-periodically.ts';

/** Periods as in Kubernetes. */
const hourMs = 3_600_000;
const passIntervalMs = hourMs;
const decidedMs = hourMs;
const pendingMs = 24 * hourMs;

/** Looks now and every hour, until the signal aborts. */
export async function cleanRequests(options: ControllerOptions): Promise<void> {
  const { api, clock, signal, log } = options;
  const requests = api.byGroupKind('certificates.k8s.io', 'CertificateSigningRequest');
  if (!requests || signal.aborted) return;
  const visit = (stored: StoredObject, call: () => Call): Promise<void> | undefined => {
    const reason = findReasonToDelete(requireKind(stored.object, 'CertificateSigningRequest'), clock.now());
    return reason === undefined ? undefined : remove(stored, reason, call());
  };
  const remove = async (stored: StoredObject, reason: string, call: Call): Promise<void> => {
    if (await deleteUnlessChanged(requests, stored, call))
      log.debug(2, 'deleted an old request for a certificate', { request: stored.name, reason });
  };
  await visitPeriodically(options, { visited: requests, intervalMs: passIntervalMs, visit });
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
