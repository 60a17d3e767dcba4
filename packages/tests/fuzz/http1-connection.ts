import { connect, type TLSSocket } from 'node:tls';
import { type Random, systemClock as clock } from '@cluster-apiserver/base';
import { parseResponses } from '../test/hostile/http1-responses.ts';
import { encodeRequest } from '../test/hostile/http1-cases.ts';
import type { Http2Target } from '../test/hostile/http2-connection.ts';
import type { Response } from './input.ts';
import { hangMs, type SharedConnection, mayBeStream, type Outcome, streamPatienceMs } from './connection.ts';

const headEnd = Buffer.from('\r\n\r\n');
const chunksEnd = Buffer.from('\r\n0\r\n\r\n');

/** An HTTP/1.1 connection for sequential requests, reopened when the server has closed it. */
export function openHttp1Connection({ port, ca }: Http2Target, random: Random): SharedConnection {
  let socket: TLSSocket | undefined;
  return {
    send: (request) =>
      new Promise((resolve) => {
        const isReused = socket !== undefined && !socket.destroyed && socket.writable;
        const used = isReused
          ? (socket as TLSSocket)
          : connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] });
        if (!isReused) used.on('error', () => {}); // 'close' follows
        socket = used;
        const pieces: Buffer[] = [];
        let bytes = 0;
        let cancelStream = (): void => {};
        const settle = (outcome: Outcome): void => {
          cancelHang();
          cancelStream();
          used.off('data', onData);
          used.off('close', onClose);
          const reusable = 'response' in outcome && outcome.response.isWhole;
          if (!reusable || outcome.response.fields.some(([name, value]) => name === 'connection' && value === 'close'))
            used.destroy();
          resolve(outcome);
        };
        const cancelHang = clock.after(hangMs, () => settle({ fault: `no response within ${hangMs} ms` }));
        const onData = (piece: Buffer): void => {
          pieces.push(piece);
          bytes += piece.length;
          if (!mayBeComplete(pieces, bytes)) return;
          const received = Buffer.concat(pieces);
          const { answers, rest } = parseResponses(received, request.method);
          const last = answers.at(-1);
          if (rest === 'something else')
            return settle({ fault: `malformed HTTP/1.1: ${JSON.stringify(received.toString('latin1').slice(-300))}` });
          if (!last || last.status < 200) return;
          const response = (isWhole: boolean): Response => ({
            status: last.status,
            fields: [...last.headers],
            body: last.body,
            isWhole,
          });
          if (rest === 'nothing') settle({ response: response(true) });
          else if (mayBeStream(request) && last.headers.has('transfer-encoding')) {
            cancelStream();
            cancelStream = clock.after(streamPatienceMs, () => settle({ response: response(false) }));
          }
        };
        // A server may close an idle connection while the client is reusing it.
        const onClose = (): void => settle({ lost: isReused ? 'connection ended before' : 'connection closed' });
        used.on('data', onData);
        used.on('close', onClose);
        used.write(encodeRequest(random, request));
      }),
    close: async () => {
      socket?.destroy();
    },
  };
}

/** Parsing again after every chunk would be quadratic, so the response is parsed when it may be complete. */
function mayBeComplete(pieces: readonly Buffer[], bytes: number): boolean {
  const [first] = pieces;
  if (!first) return false;
  const end = first.indexOf(headEnd);
  if (end < 0) return true; // a fragmented head is rare
  const head = first.subarray(0, end).toString('latin1').toLowerCase();
  const declared = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (declared !== undefined) return bytes >= end + headEnd.length + Number(declared) || pieces.length === 1;
  return pieces.length === 1 || endOf(pieces, chunksEnd.length).equals(chunksEnd);
}

/** The last bytes, possibly from several chunks. */
function endOf(pieces: readonly Buffer[], bytes: number): Buffer {
  const last: Buffer[] = [];
  for (let at = pieces.length - 1, found = 0; at >= 0 && found < bytes; at--) {
    const piece = pieces[at] as Buffer;
    last.unshift(piece);
    found += piece.length;
  }
  return Buffer.concat(last).subarray(-bytes);
}
