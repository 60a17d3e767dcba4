import { expect, test } from '@jest/globals';
import { callUntil, systemClock, systemRandom } from '@cluster-apiserver/base';
import { encodeMessage, writeInt64, writeNested } from '../protobuf/fields.ts';
import { EtcdClient } from './client.ts';
import { MaybeAppliedError } from './retrying-call.ts';
import { EtcdFault, type UnaryOptions } from './transport.ts';
import { conditionalWrite } from './wire/key-value.ts';

const valid = Buffer.from(
  encodeMessage((to) =>
    writeNested(to, 1, (header) => {
      writeInt64(header, 1, 1);
      writeInt64(header, 3, 7);
    }),
  ),
);
/** A field that is longer than the message. */
const malformed = Buffer.from([0x0a, 0xff, 0x01]);

/** The error of a write to a member that responds to it like this; undefined if it succeeds. */
async function writeWith(
  respond: (options: UnaryOptions) => Promise<Buffer>,
  { stopIfMaybeApplied = true } = {},
): Promise<unknown> {
  const client = new EtcdClient({
    endpoints: ['http://one'],
    connect: () => ({
      unary: async (path, _, options) => (path === conditionalWrite.path ? respond(options) : valid),
      openStream: () => ({ send: () => {}, messages: (async function* () {})(), close: () => {} }),
      connectionNumber: 1,
      close: () => {},
    }),
    clock: systemClock,
    random: systemRandom(),
  });
  const request = { key: '/a', expected: 0, value: [Buffer.from('x')], lease: 0 };
  const call = { ...callUntil(systemClock.monotonicMs() + 1_000), stopIfMaybeApplied };
  const error: unknown = await client.call(conditionalWrite, request, call).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  client.close();
  return error;
}

test('a write may have been applied if its response is malformed', async () => {
  expect(await writeWith(async () => malformed)).toBeInstanceOf(MaybeAppliedError);
});

test('a response that arrives during a pause between attempts is the result, without another attempt', async () => {
  let attempts = 0;
  const error = await writeWith(
    async ({ late }) => {
      attempts++;
      setImmediate(() => late?.onResponse(valid));
      throw new EtcdFault('lost', 14, 'sent no response in time');
    },
    { stopIfMaybeApplied: false },
  );
  expect([attempts, error]).toEqual([1, undefined]);
});

test('a malformed response that arrives late is ignored', async () => {
  let late: UnaryOptions['late'];
  await writeWith(async (options) => {
    late = options.late;
    throw new EtcdFault('lost', 14, 'sent no response in time');
  });
  expect(() => late?.onResponse(malformed)).not.toThrow();
  expect(late).toBeDefined();
});
