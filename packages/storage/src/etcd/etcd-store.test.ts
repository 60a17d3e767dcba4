import { expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import { encodeMessage, writeBytes, writeInt64, writeNested } from '../protobuf/fields.ts';
import { revision } from '../revision.ts';
import { identity } from '../transform/transformer.ts';
import type { EtcdClient } from './client.ts';
import { EtcdStore } from './etcd-store.ts';
import { History } from './history.ts';
import { noMeasures } from './measures.ts';
import type { EtcdCall } from './retrying-call.ts';
import { StallAwareClock } from './stall-aware-clock.ts';

const [key, theirs] = ['/a', Buffer.from('theirs')];
/** The feed delivers that another writer has replaced revision 7. */
const overtaking = Buffer.from(
  encodeMessage((to) => {
    writeNested(to, 1, (header) => {
      writeInt64(header, 1, 1);
      writeInt64(header, 3, 8);
    });
    writeNested(to, 11, (event) =>
      writeNested(event, 2, (current) => {
        writeBytes(current, 1, key);
        writeInt64(current, 3, 8);
        writeBytes(current, 5, theirs);
      }),
    );
  }),
);

test('after a write that was in doubt, the next one of its caller has no more time than it had', async () => {
  const clock = fakeClock();
  const history = new History();
  history.clusterId = 1;
  const sinceMs: (number | undefined)[] = [];
  const client = {
    ...{ clock, history, random: seededRandom(1), measures: noMeasures, electionTimeoutMs: 1_000 },
    stallAwareClock: new StallAwareClock(clock),
    budgetLeftMs: () => 1_000,
    noteWatchOutcome: () => {},
    openStream: async () => ({
      send: () => {},
      close: () => {},
      messages: (async function* () {
        yield overtaking;
        await new Promise(() => {});
      })(),
    }),
    call: async (_: unknown, __: unknown, call: EtcdCall) => {
      sinceMs.push(call.sinceMs);
      if (sinceMs.length > 1) throw new StorageUnavailableError('etcd does not respond');
      // The first attempt got no response, and the second one met another value.
      if (call.attempts) call.attempts.maybeApplied = true;
      const current = { key, value: theirs, createRevision: 1, modRevision: 8, lease: 0 };
      return { applied: false, header: { clusterId: 1, revision: 8 }, current };
    },
  } as unknown as EtcdClient; // the store uses nothing else of it here
  const store = new EtcdStore({ client, transformer: identity, internalPrefix: '/own/' });
  const feed = store.watch('/', revision(5), new AbortController().signal, { withPrevious: false });
  await feed[Symbol.asyncIterator]().next();
  const [caller, other] = [callUntil(Infinity), callUntil(Infinity)];
  const update = (by: typeof caller): Promise<unknown> =>
    store.update(key, Buffer.from('mine'), revision(7), {}, by).catch((error: unknown) => error);
  const beganMs = clock.monotonicMs();
  expect(await update(caller)).toMatchObject({ name: 'RevisionMismatchError' });
  clock.advance(800);
  expect(await update(caller)).toBeInstanceOf(StorageUnavailableError);
  expect(await update(other)).toBeInstanceOf(StorageUnavailableError);
  expect(sinceMs).toEqual([beganMs, beganMs, beganMs + 800]);
});
