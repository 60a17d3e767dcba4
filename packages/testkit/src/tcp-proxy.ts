/** A proxy in front of a member that can disconnect, stop forwarding, delay, slow down, and drop responses. */
import { createServer, connect as dial, type Socket } from 'node:net';
import { boundPort } from './bound-port.ts';

export interface TcpProxy {
  readonly endpoint: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Closes a connection after this many response bytes; undefined for never. */
  cutAfterBytes: number | undefined;
  /** Forwards requests and drops responses. */
  dropResponses: boolean;
  /** Delays responses. */
  delayMs: number;
  /** The rate of responses on each connection; undefined for no limit. */
  bytesPerSecond: number | undefined;
  /** Forwards nothing in either direction. New connections are accepted. */
  silent: boolean;
  /** The same for connections that begin with certain bytes; undefined for none. */
  isSilentFor: ((opening: string) => boolean) | undefined;
  /** Closes all connections now. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((near) => {
    accepted++;
    const far = dial(Number(port), hostname);
    let returnedBytes = 0;
    let opening: string | undefined;
    const isSilent = (): boolean => proxy.silent || proxy.isSilentFor?.(opening ?? '') === true;
    const both = [near, far];
    const end = (): void => {
      for (const socket of both) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of both) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end).on('close', end);
    }
    near.on('data', (piece) => {
      opening ??= piece.toString('latin1');
      if (!isSilent()) far.write(piece);
    });
    far.on('data', (piece) => {
      if (isSilent() || proxy.dropResponses) return;
      if (proxy.bytesPerSecond !== undefined) {
        far.pause();
        setTimeout(() => far.resume(), (piece.length / proxy.bytesPerSecond) * 1_000);
      }
      returnedBytes += piece.length;
      const returned = returnedBytes;
      const pass = (): void => {
        if (proxy.cutAfterBytes === undefined || returned <= proxy.cutAfterBytes) near.write(piece);
        else end();
      };
      if (proxy.delayMs > 0) setTimeout(pass, proxy.delayMs);
      else pass();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const proxy: TcpProxy = {
    endpoint: `http://127.0.0.1:${boundPort(server)}`,
    get accepted() {
      return accepted;
    },
    cutAfterBytes: undefined,
    dropResponses: false,
    delayMs: 0,
    bytesPerSecond: undefined,
    silent: false,
    isSilentFor: undefined,
    cut,
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
