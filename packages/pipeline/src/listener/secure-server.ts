import { constants } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { isWebSocketUpgrade } from './web-socket/handshake.ts';
import * as limits from './limits.ts';
import { cipherSuites, type ServingCertificate } from './serving-certificate.ts';

export interface SecureServerOptions {
  readonly certificate: ServingCertificate;
  /** Whether clients are asked for a certificate. They may leave it, and it is for others to verify what they show. */
  readonly asksForCertificates: boolean;
  /** Requests that a client may have open on one connection of HTTP/2. */
  readonly streamsMax: number;
}

/** Node's server for both protocols on one port, with all of its options that bound what a client may do. */
export function createServer({ certificate, asksForCertificates, streamsMax }: SecureServerOptions): Http2SecureServer {
  const server = createSecureServer({
    ...secureContext(certificate, asksForCertificates),
    requestCert: asksForCertificates,
    rejectUnauthorized: false,
    allowHTTP1: true,
    handshakeTimeout: limits.headTimeoutMs,
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: limits.headTimeoutMs,
    connectionsCheckingInterval: limits.sweepMs,
    // Bodies and idle connections are watched by the sweep, which knows what each of them waits for.
    requestTimeout: 0,
    keepAliveTimeout: 0,
    // Refused by us with a Status instead.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: limits.tcpKeepAliveMs,
    allowHalfOpen: true,
    maxHeaderListPairs: limits.headerLinesMax + pseudoHeaders,
    maxSessionMemory: limits.sessionMegabytesMax,
    maxSessionInvalidFrames: 100,
    streamResetBurst: limits.streamResets.burst,
    streamResetRate: limits.streamResets.perSecond,
    // Node would drop a header with a blank at an end of its value without a word; here it arrives and is refused.
    strictFieldWhitespaceValidation: false,
    settings: { maxConcurrentStreams: streamsMax, maxHeaderListSize: limits.headBytesMax, enablePush: false },
  } as Parameters<typeof createSecureServer>[0]);
  server.maxConnections = limits.connectionsMax;
  // The common server takes this option of the HTTP/1.1 server only as its property.
  (server as unknown as { shouldUpgradeCallback: typeof isWebSocketUpgrade }).shouldUpgradeCallback =
    isWebSocketUpgrade;
  // A client that has shut its side may still wait for the answer to what it sent.
  (server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // Node would drop headers above its own number without a word, and a dropped header can be the one that forbids.
  (server as unknown as HttpServer).maxHeadersCount = 0;
  return server;
}

/** `:method`, `:path`, `:scheme` and `:authority`. */
const pseudoHeaders = 4;

export function secureContext({ cert, key }: ServingCertificate, asksForCertificates: boolean): object {
  const suites = { cert, key, minVersion: 'TLSv1.2', ciphers: cipherSuites, honorCipherOrder: true };
  return asksForCertificates ? { ...suites, ...keepsCertificates } : suites;
}

/**
 * OpenSSL verifies nothing: authorities change while connections last, and after a verification that went well Node
 * no longer knows what else the client has shown. A resumed session knows as little, and with a new handshake inside of
 * a connection the certificate would be another one.
 */
const keepsCertificates = {
  ca: [],
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
};
