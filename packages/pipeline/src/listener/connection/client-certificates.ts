import type { TLSSocket } from 'node:tls';

const none: readonly Buffer[] = [];

/**
 * Reads the client's certificate chain. Node returns it only once: the first call removes the certificate from
 * OpenSSL's list. So it is read when the connection begins.
 */
export function readClientCertificates(socket: Pick<TLSSocket, 'getPeerX509Certificate'>): readonly Buffer[] {
  const chain: Buffer[] = [];
  for (
    let next = socket.getPeerX509Certificate();
    next && chain.length < certificatesMax;
    next = next.issuerCertificate
  ) {
    // A self-signed certificate is its own issuer.
    if (chain.at(-1)?.equals(next.raw)) break;
    chain.push(next.raw);
  }
  return chain.length > 0 ? chain : none;
}

/** Longer than any valid chain. */
const certificatesMax = 12;
