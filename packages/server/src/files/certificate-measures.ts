import { X509Certificate } from 'node:crypto';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** The purpose of a certificate file. */
export type CertificateUse = (typeof uses)[number];

const uses = ['serving', 'client-ca', 'requestheader-client-ca', 'etcd-ca', 'etcd-client'] as const;

export interface CertificateMeasures {
  /** The content of the file is used from now on; undefined if the flag is not set. */
  inUse(use: CertificateUse, pem: Buffer | undefined): void;
  reloaded(use: CertificateUse, status: 'success' | 'failure'): void;
}

/** Lets operators alert on expiring certificates and on failed reloads. */
export function createCertificateMeasures(metrics: Metrics): CertificateMeasures {
  const expiration = metrics.gauge({
    name: 'apiserver_certificate_expiration_timestamp_seconds',
    help: 'Earliest expiration of the certificates of a file in use, in seconds since 1970, by purpose of the file.',
    labels: { use: uses },
  });
  const reloads = metrics.counter({
    name: 'apiserver_certificate_reloads_total',
    help: 'Number of reloads of certificate files, by purpose of the file and status.',
    labels: { use: uses, status: ['success', 'failure'] },
  });
  return {
    inUse: (use, pem) => {
      const seconds = pem && findFirstExpirationSeconds(pem);
      if (seconds !== undefined) expiration.set({ use }, seconds);
    },
    reloaded: (use, status) => reloads.add({ use, status }),
  };
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Undefined if the file contains no valid certificate; the user of the file reports that. */
function findFirstExpirationSeconds(pem: Buffer): number | undefined {
  const all = Array.from(pem.toString().matchAll(certificates), ([text]) => readExpirationMs(text));
  const known = all.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.min(...known) / 1000 : undefined;
}

function readExpirationMs(pem: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return undefined;
  }
}
