import { createSecureContext } from 'node:tls';
import { type Clock, sleep } from '@cluster-apiserver/base';

/** A certificate with the chain that leads to it, and its key, both as PEM. */
export interface ServingCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws when the parts cannot be read or do not belong together, as happens between the two writes of a rotation. */
export function checkCertificate({ cert, key }: ServingCertificate): void {
  createSecureContext({ cert, key });
}

/** Two small files, and nobody waits for a certificate for longer than a human looks at a terminal. */
const certificatePollMs = 2_000;

export interface CertificateSource {
  read(): Promise<ServingCertificate>;
  readonly clock: Clock;
  report(what: string, error: unknown): void;
}

/**
 * Follows the files by their content. Notifications differ between an edit in place, a rename and a swapped symbolic
 * link, and are lost on network file systems; bytes are bytes. What does not hold together leaves the old one in service.
 */
export function followCertificate(
  source: CertificateSource,
  current: ServingCertificate,
  use: (next: ServingCertificate) => void,
): () => void {
  const stop = new AbortController();
  void (async () => {
    let inService = current;
    let complaint = '';
    while (!stop.signal.aborted) {
      await sleep(source.clock, certificatePollMs, stop.signal);
      try {
        const next = await source.read();
        if (next.cert.equals(inService.cert) && next.key.equals(inService.key)) continue;
        checkCertificate(next);
        if (stop.signal.aborted) return;
        use(next);
        inService = next;
        complaint = '';
      } catch (error) {
        // Once for each fault: the poll would otherwise repeat it every two seconds until somebody mends the files.
        if (String(error) !== complaint)
          source.report('the new serving certificate is not usable, the old one stays', error);
        complaint = String(error);
      }
    }
  })().catch(() => {}); // The only way here is the end of the sleep by `stop`.
  return () => stop.abort();
}

/** Suites with forward secrecy and authenticated encryption only; the first three are those of TLS 1.3. */
export const cipherSuites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
