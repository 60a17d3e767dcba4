/** Signs approved requests for certificates of clients of this server. */
import { CertificateRequestError, readCertificateRequest } from '@cluster-apiserver/certificates';
import type { CertificateSigningRequest } from '@cluster-apiserver/kinds';
import { formatTime } from '@cluster-apiserver/model';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import { changeObject } from '../change-object.ts';
import { readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, type ControllerServices, runController, manager } from '../run-controller.ts';

/** The only signer of Kubernetes that is about clients which are no kubelets. */
const signerName = 'kubernetes.io/kube-apiserver-client';

/** As in Kubernetes. */
const workers = 5;

/** An authority that has expired stays so until an operator replaces it. */
const pauses = { firstMs: 200, maxMs: 60_000 };

const minuteMs = 60_000;
/** Tolerates clocks that are behind. */
const backdatedMs = 5 * minuteMs;
const shortestMs = 10 * minuteMs;
/** Of shorter certificates the end is not backdated, too: it would be a notable part of them. */
const longMs = 8 * 60 * minuteMs;

/** Larger certificates are of no use: TLS would not transport them. */
const requestBytesMax = 64 * 1024;

/** Signs until the signal aborts, and resolves when no work is running any more. Signs nothing without an authority. */
export async function signRequests(options: ControllerOptions & ControllerServices): Promise<void> {
  const { api, clock, random, signal, log, clientSigner } = options;
  const requests = api.byGroupKind('certificates.k8s.io', 'CertificateSigningRequest');
  if (!requests || !clientSigner || signal.aborted) return;
  const { signer: currentSigner, durationMs } = clientSigner;
  /** The new status, or undefined if there is nothing to sign. */
  const decide = async ({ spec, status }: CertificateSigningRequest): Promise<Status | undefined> => {
    if (spec.signerName !== signerName || !awaitsSigning(status)) return undefined;
    const nowMs = clock.now();
    try {
      const { usages = [] } = spec;
      requireClientUsages(usages);
      const pem = decodeBase64(spec.request ?? '') ?? Buffer.alloc(0);
      if (pem.length > requestBytesMax)
        throw new CertificateRequestError(`the request has more than ${requestBytesMax} bytes`);
      const signer = currentSigner();
      if (signer.notAfterMs <= nowMs) throw new Error('the authority of --cluster-signing-cert-file has expired');
      const certificate = await signer.sign(
        readCertificateRequest(pem.toString('latin1')),
        {
          notBeforeMs: nowMs - backdatedMs,
          notAfterMs: Math.min(findEnd(nowMs, spec.expirationSeconds, durationMs), signer.notAfterMs),
          usages,
        },
        random,
      );
      return { ...status, certificate: Buffer.from(certificate).toString('base64') };
    } catch (error) {
      if (!(error instanceof CertificateRequestError)) throw error;
      return { ...status, conditions: [...(status.conditions ?? []), failed(error.message, formatTime(nowMs))] };
    }
  };
  await runController(options, {
    workers,
    pauses,
    reconciled: requests,
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        const stored = readable(requests.collection.get(key));
        if (!stored) return;
        const status = await decide(requireKind(stored.object, 'CertificateSigningRequest'));
        if (!status) return;
        const version = String(stored.revision);
        // A request that has changed meanwhile is decided again.
        const change = (current: object & { readonly metadata: { readonly resourceVersion?: string } }): object =>
          current.metadata.resourceVersion === version ? { ...current, status } : current;
        await changeObject(requests, stored, { manager, subresource: 'status', change }, call());
        log.debug(2, 'answered a request for a certificate', {
          request: stored.name,
          result: status.certificate ? 'signed' : 'failed',
        });
      },
      changed: (_, { key, current }) => {
        if (readable(current)?.fields?.['spec.signerName'] === signerName) enqueue(key);
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}

type Status = CertificateSigningRequest['status'];

function awaitsSigning({ conditions = [], certificate }: Status): boolean {
  const is = (wanted: string): boolean =>
    conditions.some(({ type, status }) => type === wanted && (type !== 'Failed' || status === 'True'));
  return !certificate && is('Approved') && !is('Denied') && !is('Failed');
}

function requireClientUsages(usages: readonly string[]): void {
  const other = usages.find((usage) => usage !== required && !optional.includes(usage));
  if (other !== undefined) throw new CertificateRequestError(`invalid usage for client certificate: ${other}`);
  if (!usages.includes(required))
    throw new CertificateRequestError(`missing required usage for client certificate: ${required}`);
}

const required = 'client auth';
const optional: readonly string[] = ['digital signature', 'key encipherment'];

function findEnd(nowMs: number, expirationSeconds: number | undefined, mostMs: number): number {
  const wantedMs =
    expirationSeconds === undefined ? mostMs : Math.min(Math.max(expirationSeconds * 1_000, shortestMs), mostMs);
  return nowMs + wantedMs - (wantedMs < longMs ? 0 : backdatedMs);
}

const failed = (message: string, now: string) => ({
  type: 'Failed',
  status: 'True',
  reason: 'SignerValidationFailure',
  message,
  lastUpdateTime: now,
  lastTransitionTime: now,
});
