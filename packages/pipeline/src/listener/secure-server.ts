import { constants } from 'node:crypto';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { isWebSocketUpgrade } from './web-socket/handshake.ts';
import * as limits from './limits.ts';
import { cipherSuites, type ServingCertificate } from './serving-certificate.ts';

export interface SecureServerOptions {
  readonly certificate: ServingCertificate;
  /** Whether to request client certificates. They are optional, and verified by authentication. */
  readonly requestsCertificates: boolean;
  /** Concurrent streams of an HTTP/2 connection. */
  readonly streamsMax: number;
}

/** Creates Node's server for both protocols on one port, with all options that limit clients. */
export function createServer({
  certificate,
  requestsCertificates: asksForCertificates,
  streamsMax,
}: SecureServerOptions): Http2SecureServer {
  const server = createSecureServer({
    ...secureContext(certificate, asksForCertificates),
    requestCert: asksForCertificates,
    rejectUnauthorized: false,
    allowHTTP1: true,
    handshakeTimeout: limits.headTimeoutMs,
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: limits.headTimeoutMs,
    connectionsCheckingInterval: limits.sweepMs,
    // The sweep checks bodies and idle connections.
    requestTimeout: 0,
    keepAliveTimeout: 0,
    // Http1Request refuses these requests with a Status.
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
    // Otherwise Node silently drops headers with surrounding whitespace; Http2Request refuses them.
    strictFieldWhitespaceValidation: false,
    settings: { maxConcurrentStreams: streamsMax, maxHeaderListSize: limits.headBytesMax, enablePush: false },
  } as Parameters<typeof createSecureServer>[0]);
  server.maxConnections = limits.connectionsMax;
  return Object.assign(server, http1Properties);
}

/** The HTTP/2 server accepts these options of HTTP/1.1 only as properties. */
const http1Properties = {
  shouldUpgradeCallback: isWebSocketUpgrade,
  /** A client that half-closed its connection may still wait for the response. */
  httpAllowHalfOpen: true,
  /** Otherwise Node silently drops headers above its default number, which could be security-relevant. */
  maxHeadersCount: 0,
};

/** `:method`, `:path`, `:scheme` and `:authority`. */
const pseudoHeaders = 4;

export function secureContext({ cert, key }: ServingCertificate, asksForCertificates: boolean): object {
  const suites = { cert, key, minVersion: 'TLSv1.2', ciphers: cipherSuites, honorCipherOrder: true };
  return asksForCertificates ? { ...suites, ...certificateRequestOptions } : suites;
}

/**
 * OpenSSL does not verify client certificates: CAs change while connections last, and after a successful verification
 * Node no longer has the whole chain. Resumed sessions lack it too, and a renegotiation could change it.
 */
const certificateRequestOptions = {
  ca: [],
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
};
