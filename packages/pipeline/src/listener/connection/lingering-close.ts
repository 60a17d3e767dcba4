import type { Socket } from 'node:net';
import type { ListenerContext } from '../listener-context.ts';
import { lingerMs } from '../limits.ts';

/**
 * Sends the last bytes and half-closes the connection (lingering close). The client may send for a moment longer:
 * closing both sides would reset the connection, and the client would not see the last bytes.
 */
export function closeLingering(socket: Socket, { clock }: Pick<ListenerContext, 'clock'>, last?: Buffer): void {
  if (last) socket.end(last);
  else socket.end();
  socket.resume();
  if (socket.readableEnded) socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
  socket.once(
    'close',
    clock.after(lingerMs, () => socket.destroy()),
  );
}
