import net, { type Socket } from 'node:net';
import tls from 'node:tls';

export interface TlsCredentials {
  /** PEM of the authorities that may sign the members' certificates. */
  readonly ca?: string | Buffer;
  /** PEM of our certificate and its key, where etcd asks for one. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** Opens a connection of bytes. What goes wrong is an `error` of the socket. */
export type Dial = (endpoint: URL, credentials: TlsCredentials | undefined, to: ByteReceiver) => Socket;

export interface ByteReceiver {
  /** There is somebody on the other side, whose certificate is good. */
  onConnect(): void;
  /** The piece is lent: the next one comes in the same memory. */
  onData(piece: Buffer): void;
}

/** Memory for what is read, lest each piece brings its own: the collector has more work with that than with all else. */
const readBytes = 64 * 1024;

export const dial: Dial = ({ protocol, hostname, port }, credentials, to) => {
  const host = hostname.replace(/^\[|\]$/g, '');
  const onread = {
    buffer: Buffer.allocUnsafe(readBytes),
    callback: (bytes: number, buffer: Uint8Array): boolean => {
      to.onData((buffer as Buffer).subarray(0, bytes));
      return true;
    },
  };
  if (protocol !== 'https:')
    return net.connect({ host, port: Number(port || 80), noDelay: true, onread }, () => to.onConnect());
  // An address is no name: a certificate is checked against it without asking for it by name.
  const name = net.isIP(host) ? {} : { servername: host };
  const options = { host, port: Number(port || 443), ALPNProtocols: ['h2'], onread, ...name, ...credentials };
  const socket = tls.connect(options, () => {
    // Whoever has not agreed to HTTP/2 may take our first bytes for something else (RFC 9113, section 3.2).
    if (socket.alpnProtocol === 'h2') to.onConnect();
    else socket.destroy(new Error(`${host} did not agree to HTTP/2 in its TLS handshake (ALPN)`));
  });
  return socket.setNoDelay();
};
