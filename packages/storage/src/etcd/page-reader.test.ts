import { expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import { encodeMessage, writeBytes, writeInt64, writeNested } from '../protobuf/fields.ts';
import type { ListResult } from '../store.ts';
import type { Transformer } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { MessageTooLargeError } from './grpc-frames.ts';
import { createPageReader } from './page-reader.ts';
import { type RangePage, type RangeRequest, rangePage } from './wire/key-value.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const keyOf = (n: number): string => `/r/${String(n).padStart(8, '0')}`;

/** What etcd answers: the values of the range, and the number of keys behind its start. */
function pageOf({ key, limit = 0 }: RangeRequest, keys: number): RangePage {
  const start = key.toString() <= '/r/' ? 0 : Number(Buffer.from(key).toString().slice(3, 11)) + 1;
  const size = Math.min(limit, keys - start);
  const encoded = encodeMessage((to) => {
    writeNested(to, 1, (header) => writeInt64(header, 3, 7));
    for (let n = start; n < start + size; n++)
      writeNested(to, 2, (value) => {
        writeBytes(value, 1, keyOf(n));
        writeInt64(value, 3, 7);
        writeBytes(value, 5, Buffer.alloc(400));
      });
    writeInt64(to, 4, keys - start);
  });
  return rangePage.decode(Buffer.from(encoded));
}

interface Fixture {
  readonly list: (after?: string) => Promise<ListResult>;
  readonly requests: readonly RangeRequest[];
  /** How many values were read in the busiest event-loop iteration. */
  readonly valuesPerTurnMax: () => number;
  /** How many values had been read whenever a page was requested. */
  readonly readAtRequest: readonly number[];
}

interface Etcd {
  /** The largest response. */
  readonly responseBytes?: number;
  readonly msPerKey?: number;
  readonly msPerPage?: number;
}

/** Reading a value takes a tenth of a millisecond, and all responses that were requested in one turn arrive together. */
function open(
  keys: number,
  { responseBytes = Number.POSITIVE_INFINITY, msPerKey = 0, msPerPage = 0 }: Etcd = {},
): Fixture {
  let ms = 0;
  let read = 0;
  let steps = 0;
  let stepsMax = 0;
  const requests: RangeRequest[] = [];
  const readAtRequest: number[] = [];
  const client = {
    clock: { ...systemClock, monotonicMs: () => ms },
    electionTimeoutMs: 1_000,
    history: { number: 1, noteValue: () => {} },
    call: async (_: unknown, request: RangeRequest) => {
      requests.push(request);
      readAtRequest.push(read);
      await new Promise(setImmediate);
      const page = pageOf(request, keys);
      ms += page.size * msPerKey + msPerPage;
      if (page.message.length > responseBytes) throw new MessageTooLargeError(page.message.length, responseBytes);
      return page;
    },
  };
  const transformer: Transformer = {
    toStorage: (value) => [value],
    fromStorage: (value) => {
      ms += 0.1;
      read++;
      if (steps++ === 0)
        setImmediate(() => {
          stepsMax = Math.max(stepsMax, steps);
          steps = 0;
        });
      return { value, stale: false };
    },
  };
  const list = createPageReader(client as unknown as EtcdClient, transformer);
  return {
    list: (after) => list({ prefix: '/r/', after }, call),
    requests,
    valuesPerTurnMax: () => stepsMax,
    readAtRequest,
  };
}

test('a list has all values in order, in few pages, because etcd counts all further keys for each', async () => {
  const { list, requests } = open(30_000);
  const { entries, revision, remaining } = await list();
  expect(entries.map(({ key }) => key)).toEqual(Array.from({ length: 30_000 }, (_, n) => keyOf(n)));
  expect({ revision, remaining }).toEqual({ revision: 7, remaining: 0 });
  expect(requests.map(({ limit }) => limit)).toEqual([100, 10_000, 10_000, 10_000]);
});

test('a page is requested before the page before it is read', async () => {
  const { list, readAtRequest } = open(30_000);
  await list();
  expect(readAtRequest).toEqual([0, 0, 100, 10_100]);
});

test('pages of many readers that arrive in one event-loop iteration are read in many turns', async () => {
  const { list, valuesPerTurnMax } = open(1_000);
  await list();
  const lists = await Promise.all(Array.from({ length: 20 }, () => list(keyOf(0))));
  expect(lists.map(({ entries }) => entries.length)).toEqual(Array.from({ length: 20 }, () => 999));
  await new Promise(setImmediate);
  // A slice of 4 ms.
  expect(valuesPerTurnMax()).toBeLessThan(100);
});

test('a page that would be too large is read with fewer keys, down to one', async () => {
  const { list } = open(60, { responseBytes: 600 });
  const { entries, remaining } = await list();
  expect(entries.map(({ key }) => key)).toEqual(Array.from({ length: 60 }, (_, n) => keyOf(n)));
  expect(remaining).toBe(0);
});

test('a single value that is too large fails the list', async () => {
  await expect(open(1, { responseBytes: 100 }).list()).rejects.toThrow(MessageTooLargeError);
});

test('pages of a slow etcd have so few keys that each arrives within three election timeouts', async () => {
  const { list, requests } = open(10_000, { msPerKey: 2 });
  const { entries } = await list();
  expect(entries).toHaveLength(10_000);
  const limits = requests.map(({ limit }) => Number(limit));
  expect(limits.slice(0, 3)).toEqual([100, 200, 400]);
  expect(Math.max(...limits)).toBeLessThan(1_500);
  expect(limits.length).toBeLessThan(20);
});

test('pages of an etcd that takes long to count all keys become large all the same', async () => {
  const { list, requests } = open(60_000, { msPerPage: 1_000 });
  await list();
  expect(requests.map(({ limit }) => limit).slice(0, 8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]);
});
