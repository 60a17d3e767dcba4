/**
 * One HTTP/2 connection to one member. It answers for its own end: a connection that does not come about, or that no
 * longer answers a ping, is torn down, so that whoever waits on it learns so and goes elsewhere.
 */
import http2, { type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { Clock } from '@cluster-apiserver/base';

export interface TlsCredentials {
  /** PEM of the authorities that may sign the members' certificates. */
  readonly ca?: string | Buffer;
  /** PEM of our certificate and its key, where etcd asks for one. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

export interface Session {
  /** Throws when the session is no longer usable. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream;
  /** False while connecting: what fails then was never sent. */
  readonly connected: boolean;
  /** False when no further request can be sent on it. */
  readonly usable: boolean;
  /** An answer is overdue: ask for a sign of life at once. */
  suspect(): void;
  destroy(): void;
}

/** A TCP and TLS handshake between neighbours takes a few milliseconds; longer than this, nobody is there. */
const connectTimeoutMs = 1_000;

/** etcd takes more than two pings within 5 s of each other, with nothing sent in between, for an attack. */
const pingIntervalMs = 5_500;

/** A ping is answered by the member's network layer, however busy its database is. */
const pingTimeoutMs = 1_000;

/** Far more than a list page needs in flight, so that the window never slows a fast network. */
const connectionWindowBytes = 32 * 1024 * 1024;

/** What a watch that is not read may pile up in the kernel's place. */
const streamWindowBytes = 2 * 1024 * 1024;

/** Node's own limit of 10 MB would refuse new streams while a few large answers are under way. */
const sessionMemoryMegabytes = 1_024;

export function openSession(endpoint: string, credentials: TlsCredentials | undefined, clock: Clock): Session {
  const socket = dial(new URL(endpoint), credentials);
  const session = http2.connect(endpoint, { ...sessionOptions, createConnection: () => socket });
  let connected = false;
  let pinging = false;
  let openStreams = 0;
  // The socket is ours to end: after a failed handshake a session that ends by itself would wait for it for ever.
  const tearDown = (reason?: Error): void => {
    session.destroy(reason);
    socket.destroy();
  };
  const silent = (reason: string): void => tearDown(new Error(`${endpoint} ${reason}`));

  const cancelConnectTimer = clock.after(connectTimeoutMs, () =>
    silent(`took no connection within ${connectTimeoutMs} ms`),
  );
  session.once('connect', () => {
    connected = true;
    cancelConnectTimer();
    session.setLocalWindowSize(connectionWindowBytes);
  });
  // Each stream of the session gets the error too; the session itself has nobody to tell.
  session.on('error', () => tearDown());
  socket.on('error', () => tearDown());

  const ping = (): void => {
    if (pinging || !connected || session.destroyed) return;
    pinging = true;
    const cancel = clock.after(pingTimeoutMs, () => silent(`answered no ping within ${pingTimeoutMs} ms`));
    const sent = session.ping(() => {
      pinging = false;
      cancel();
    });
    if (!sent) {
      pinging = false;
      cancel();
    }
  };
  let cancelPingTimer = (): void => {};
  const pingAgain = (): void => {
    cancelPingTimer = clock.after(pingIntervalMs, () => {
      // What has ended in peace, but whose other side does not close, ends here.
      if (session.destroyed) return tearDown();
      // Without a stream nobody waits, and etcd objects to pings on an idle connection.
      if (openStreams > 0) ping();
      pingAgain();
    });
  };
  pingAgain();
  socket.once('close', () => {
    cancelConnectTimer();
    cancelPingTimer();
  });

  return {
    request: (headers) => {
      const stream = session.request(headers);
      openStreams++;
      stream.once('close', () => {
        openStreams--;
      });
      return stream;
    },
    get connected() {
      return connected;
    },
    get usable() {
      return !session.closed && !session.destroyed;
    },
    suspect: ping,
    destroy: () => tearDown(),
  };
}

const sessionOptions = {
  maxSessionMemory: sessionMemoryMegabytes,
  // Until the member names a limit, Node assumes 100; etcd names none, because it has none.
  peerMaxConcurrentStreams: 2 ** 31 - 1,
  settings: { initialWindowSize: streamWindowBytes, enablePush: false },
};

function dial({ protocol, hostname, port }: URL, credentials: TlsCredentials | undefined): Socket {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return net.connect({ host, port: Number(port || 80) });
  // An address is no name: a certificate is checked against it without asking for it by name.
  const name = net.isIP(host) ? {} : { servername: host };
  return tls.connect({ host, port: Number(port || 443), ALPNProtocols: ['h2'], ...name, ...credentials });
}
