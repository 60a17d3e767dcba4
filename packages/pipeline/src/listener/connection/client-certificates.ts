import type { TLSSocket } from 'node:tls';

const none: readonly Buffer[] = [];

/**
 * What a client has shown at the handshake. Node gives it once: with the first question it takes the certificate out of
 * OpenSSL's list, and the second one finds a list that begins with the next. So it is read when the connection begins.
 */
export function readClientCertificates(socket: Pick<TLSSocket, 'getPeerX509Certificate'>): readonly Buffer[] {
  const chain: Buffer[] = [];
  for (
    let next = socket.getPeerX509Certificate();
    next && chain.length < certificatesMax;
    next = next.issuerCertificate
  ) {
    // One that has signed itself stands above itself for ever.
    if (chain.at(-1)?.equals(next.raw)) break;
    chain.push(next.raw);
  }
  return chain.length > 0 ? chain : none;
}

/** More than any chain that is believed. */
const certificatesMax = 12;
