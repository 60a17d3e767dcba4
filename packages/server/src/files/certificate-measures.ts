import { X509Certificate } from 'node:crypto';
import { splitCertificates } from '@cluster-apiserver/config';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { FileMeasures } from './follow-files.ts';

/** The purpose of a certificate file. */
export type CertificateUse = (typeof uses)[number];

const uses = ['serving', 'client-ca', 'requestheader-client-ca', 'cluster-signing', 'etcd-ca', 'etcd-client'] as const;

/** The metrics of files that are reloaded together as `use`, with the purpose of each; undefined for a key. */
export type CertificateMeasures = (
  use: CertificateUse,
  ofFiles: readonly (CertificateUse | undefined)[],
) => FileMeasures;

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
  return (use, ofFiles) => ({
    applied: (bytes) => {
      for (const [index, ofFile] of ofFiles.entries()) {
        const seconds = ofFile && findFirstExpirationSeconds(String(bytes[index]));
        if (ofFile && seconds !== undefined) expiration.set({ use: ofFile }, seconds);
      }
    },
    reloaded: (status) => reloads.add({ use, status }),
  });
}

/** Undefined if the file contains no valid certificate; the user of the file reports that. */
function findFirstExpirationSeconds(pem: string): number | undefined {
  const known = splitCertificates(pem).flatMap((text) => readExpirationMs(text) ?? []);
  return known.length > 0 ? Math.min(...known) / 1000 : undefined;
}

function readExpirationMs(pem: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return undefined;
  }
}
