import http from 'node:http';
import https from 'node:https';
import { type Dial, HttpsError } from './https-client.ts';

/** An HTTP CONNECT proxy at a Unix socket or a URL, with or without TLS. */
export type ConnectProxy = { readonly socket: string } | { readonly url: URL; readonly tls: ProxyTls | undefined };

export interface ProxyTls {
  /** The CAs of the system if undefined. */
  readonly ca: Buffer | undefined;
  readonly cert: Buffer;
  readonly key: Buffer;
}

export const createProxyDial =
  (proxy: ConnectProxy): Dial =>
  ({ host, port }, signal) =>
    new Promise((resolve, reject) => {
      const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      const options = { method: 'CONNECT', path: target, headers: { host: target }, agent: false, signal } as const;
      const request =
        'socket' in proxy
          ? http.request({ ...options, socketPath: proxy.socket })
          : proxy.url.protocol === 'https:'
            ? https.request(proxy.url, { ...options, ...proxy.tls })
            : http.request(proxy.url, options);
      const failed = (cause: Error): void => reject(new HttpsError('the proxy does not connect', { cause }));
      request.on('error', failed);
      request.on('connect', ({ statusCode }, connection, head) => {
        // Data before the TLS handshake is a protocol violation: a TLS server never speaks first.
        if (statusCode === 200 && head.length === 0) return resolve(connection);
        connection.destroy();
        failed(new Error(`the status is ${statusCode}`));
      });
      // Node emits this for a response that does not establish a tunnel.
      request.on('response', ({ statusCode }) => {
        request.destroy();
        failed(new Error(`the status is ${statusCode}`));
      });
      request.end();
    });
