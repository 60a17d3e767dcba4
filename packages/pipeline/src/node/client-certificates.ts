import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

const shown = new WeakMap<object, readonly Buffer[]>();
const none: readonly Buffer[] = [];

/**
 * What a client has shown at the handshake. Node gives it once: with the first question it takes the certificate out of
 * OpenSSL's list, and the second one finds a list that begins with the next.
 */
export function clientCertificates(socket: Pick<TLSSocket, 'getPeerX509Certificate'> | undefined): readonly Buffer[] {
  if (!socket) return none;
  const known = shown.get(socket);
  if (known) return known;
  const chain = chainFrom(socket.getPeerX509Certificate());
  shown.set(socket, chain);
  return chain;
}

function chainFrom(first: X509Certificate | undefined): readonly Buffer[] {
  const chain: Buffer[] = [];
  for (let next = first; next && chain.length < certificatesMax; next = next.issuerCertificate) {
    // One that has signed itself stands above itself for ever.
    if (chain.at(-1)?.equals(next.raw)) break;
    chain.push(next.raw);
  }
  return chain.length > 0 ? chain : none;
}

/** More than any chain that is believed. */
const certificatesMax = 12;
