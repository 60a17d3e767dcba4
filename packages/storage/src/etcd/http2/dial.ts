import net, { type Socket } from 'node:net';
import tls from 'node:tls';

export interface TlsCredentials {
  /** CA certificates for the members' certificates, as PEM. */
  readonly ca?: string | Buffer;
  /** The client certificate and its key, if etcd requires one, as PEM. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** Opens a TCP or TLS connection. A failure is an `error` event of the socket. */
export type Dial = (endpoint: URL, credentials: TlsCredentials | undefined, to: ByteReceiver) => Socket;

export interface ByteReceiver {
  /** The connection is established and the member's certificate is valid. */
  onConnect(): void;
  /** The next piece reuses the same memory. */
  onData(piece: Buffer): void;
}

/** One read buffer per connection: a buffer per piece would be the largest load on the garbage collector. */
const readBytes = 64 * 1024;

export const dial: Dial = ({ protocol, hostname, port }, credentials, to) => {
  const host = hostname.replace(/^\[|\]$/g, '');
  const buffer = Buffer.allocUnsafe(readBytes);
  const onread = {
    buffer,
    callback: (bytes: number): boolean => {
      to.onData(buffer.subarray(0, bytes));
      return true;
    },
  };
  if (protocol !== 'https:')
    return net.connect({ host, port: Number(port || 80), noDelay: true, onread }, () => to.onConnect());
  // SNI allows no IP addresses. The certificate is still checked against the address.
  const name = net.isIP(host) ? {} : { servername: host };
  const options = { host, port: Number(port || 443), ALPNProtocols: ['h2'], onread, ...name, ...credentials };
  const socket = tls.connect(options, () => {
    // Without ALPN the peer may not speak HTTP/2 (RFC 9113, section 3.2).
    if (socket.alpnProtocol === 'h2') to.onConnect();
    else socket.destroy(new Error(`${host} did not agree to HTTP/2 in its TLS handshake (ALPN)`));
  });
  return socket.setNoDelay();
};
