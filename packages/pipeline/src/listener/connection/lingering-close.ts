import type { Socket } from 'node:net';
import type { ListenerContext } from '../listener-context.ts';
import { lingerMs } from '../limits.ts';

/**
 * Says the last bytes and ends our side. The client's side stays open for a moment longer: closing both at once would
 * reset the connection of one that still sends, and it would never see what was said.
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
