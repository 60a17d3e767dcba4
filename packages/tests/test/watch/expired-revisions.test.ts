import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { revision } from '@cluster-apiserver/storage';
import { Client } from '../../../pipeline/test/use-watches.ts';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { resourceOf, type ServedResource, validObject } from '../responses/resources.ts';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';

/** What a client has seen before the server lost it: a resourceVersion, and a list that it has not finished. */
interface Seen {
  readonly version: number;
  readonly token: string;
}

/** How the past is lost. The version that clients know is the latest one, or has been overtaken. */
interface Loss {
  readonly how: string;
  /** Clients know a version that the server has not reached again. */
  readonly isFuture?: boolean;
  lose(server: InMemoryServer, seen: Seen, write: () => Promise<number>): Promise<void>;
}

const losses: readonly Loss[] = [
  {
    how: 'etcd has compacted it, and the watch cache was loaded again',
    lose: async ({ store }, { version }) => {
      // In one turn, so that the watch of the cache has not delivered the writes.
      const call = callUntil(Number.POSITIVE_INFINITY);
      const writes = ['1', '2'].map((name) => store.create(`/elsewhere/${name}`, Buffer.from(''), {}, call));
      store.compact(revision(version + writes.length));
      await Promise.all(writes);
    },
  },
  {
    how: 'etcd was restored as of a much later revision',
    lose: async ({ store }, { version }) => store.restore(revision(version), revision(version + 1_000_000)),
  },
  {
    how: 'everything known was compacted while this replica was cut off',
    lose: async ({ store }, _, write) => {
      const latest = revision(await write());
      store.restore(latest, revision(latest + 1));
    },
  },
  {
    how: 'etcd was restored without another revision, and has been written to since',
    lose: async ({ store }, { version }, write) => {
      const latest = await write();
      await write();
      store.restore(revision(latest));
      expect(version).toBeLessThan(latest);
    },
  },
  {
    how: 'etcd was restored from before it',
    isFuture: true,
    lose: async ({ store }, { version }) => store.restore(revision(version - 2)),
  },
];

/** What clients send with a version that is gone. */
interface Request {
  readonly name: string;
  readonly query: (seen: Seen) => string;
  /** Any later state will do, so only a version from the future is an error. */
  readonly acceptsLater?: boolean;
  readonly of?: 'object' | 'watch';
  readonly isWebSocket?: boolean;
}

const requests: readonly Request[] = [
  { name: 'a get', of: 'object', acceptsLater: true, query: ({ version }) => `resourceVersion=${version}` },
  { name: 'a list', acceptsLater: true, query: ({ version }) => `resourceVersion=${version}` },
  { name: 'a list with a limit', query: ({ version }) => `resourceVersion=${version}&limit=1` },
  { name: 'an exact list', query: ({ version }) => `resourceVersion=${version}&resourceVersionMatch=Exact` },
  { name: 'the rest of a list', query: ({ token }) => `limit=1&continue=${token}` },
  { name: 'a watch', of: 'watch', query: ({ version }) => `resourceVersion=${version}` },
  { name: 'a WebSocket watch', of: 'watch', isWebSocket: true, query: ({ version }) => `resourceVersion=${version}` },
  {
    name: 'a watch of the state and its changes',
    of: 'watch',
    acceptsLater: true,
    query: ({ version }) =>
      `resourceVersion=${version}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  },
];

const places: readonly ServedResource[] = [
  resourceOf('ServiceAccount'),
  resourceOf('Event', 'v1'),
  resourceOf('Event', 'events.k8s.io/v1'),
];

describe.each(losses)('after $how', ({ lose, isFuture = false }) => {
  describe.each(places)('for $plural in $apiVersion', (place) => {
    let server: InMemoryServer;
    let seen: Seen;
    beforeEach(async () => {
      server = await serveInMemory({ chain: { allowedOrigin: () => true } });
      let names = 0;
      const write = async (): Promise<number> => {
        const { body } = await server.askJson('POST', place.path, validObject(place, { name: `x${names++}` }));
        return Number(body.metadata.resourceVersion);
      };
      for (let count = 0; count < 4; count++) await write();
      const { metadata } = (await server.askJson('GET', `${place.path}?limit=1`)).body;
      seen = { version: Number(metadata.resourceVersion), token: metadata.continue ?? '' };
      await lose(server, seen, write);
      while ((await server.askJson('GET', place.path)).status === 503) await new Promise(setImmediate);
    });
    afterEach(() => server.close());

    test.each(requests)('$name is answered with 410', async ({ query, acceptsLater, of, isWebSocket }) => {
      const isGone = isFuture || !acceptsLater;
      const target = `${place.path}${of === 'object' ? '/x0' : ''}?${query(seen)}`;
      if (of === 'watch') {
        const event = await firstEvent(server, `${target}&watch=true`, isWebSocket);
        expect(event).toMatchObject(
          isGone ? { type: 'ERROR', object: { code: 410, reason: 'Expired' } } : { type: 'ADDED' },
        );
      } else {
        const { status, body } = await server.askJson('GET', target);
        expect(status).toBe(isGone ? 410 : 200);
        if (isGone) expect(body.reason).toBe('Expired');
      }
      expect(server.reportedErrors).toEqual([]);
    });

    test('the token of the answer continues the list with its present state', async () => {
      const { body }: JsonResponse = await server.askJson('GET', `${place.path}?continue=${seen.token}`);
      expect(body.details?.causes).toEqual([expect.objectContaining({ reason: 'ResourceExpired' })]);
      const rest = await server.askJson('GET', `${place.path}?continue=${body.metadata.continue}`);
      expect(rest.body.items?.[0]?.metadata.name).toBe('x1');
    });
  });
});

async function firstEvent(server: InMemoryServer, target: string, isWebSocket = false): Promise<unknown> {
  const client = new Client();
  const { status, stream } = await server.ask('GET', target, {
    isWebSocket,
    ...(isWebSocket && { headers: { origin: 'https://a.example' } }),
  });
  expect(status).toBe(isWebSocket ? 101 : 200);
  if (!stream) throw new Error('it is no stream');
  void stream(client);
  const received = (): string => Buffer.concat(client.bytes).toString();
  while (!received().includes('}')) await new Promise(setImmediate);
  client.leaving.abort();
  const text = received();
  return JSON.parse(text.slice(text.indexOf('{'), isWebSocket ? undefined : text.indexOf('\n')));
}
