import { expect, test } from '@jest/globals';
import { parseProtobuf } from '@cluster-apiserver/model/codec';
import { decode, type ObjectSchema, statusSchema } from '@cluster-apiserver/model/schema';
import { untilTurned as until } from '@cluster-apiserver/testkit/until';
import { kind, useWatches } from '../../test/use-watches.ts';

const watches = useWatches();
const { begin, make, settle } = watches;

test('the bookmark after the initial events has both annotations', async () => {
  const client = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
  await until(() => client.lines.length === 1);
  expect(JSON.parse(client.lines[0] as string).object).toEqual({
    kind: 'Robot',
    apiVersion: 'v1',
    metadata: {
      resourceVersion: expect.any(String),
      annotations: { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' },
    },
  });
});

test('only the first table event of each watcher has columns', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  await make('a');
  await make('b');
  const first = await begin('', { accept });
  await until(() => first.lines.length === 2);
  const second = await begin('', { accept });
  await make('c');
  for (const client of [first, second]) {
    await until(() => client.lines.length === 3);
    const tables = client.lines.map((line) => JSON.parse(line).object);
    expect(tables.map(({ columnDefinitions }) => columnDefinitions?.length)).toEqual([2, undefined, undefined]);
    expect(tables.map(({ rows: [row] }) => row.cells[0])).toEqual(['a', 'b', 'c']);
  }
});

test('partial metadata events have only metadata, and errors are unchanged', async () => {
  const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const client = await begin(`resourceVersion=${await make('a')}&allowWatchBookmarks=true`, { accept });
  const second = await make('b');
  await until(() => client.lines.length === 1);
  await settle();
  client.closing.abort();
  await until(() => client.ended);
  expect(client.events).toEqual(['ADDED b', `BOOKMARK ${second}`]);
  for (const line of client.lines)
    expect(Object.keys(JSON.parse(line).object)).toEqual(['kind', 'apiVersion', 'metadata']);
  const failed = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000', {
    accept,
  });
  await until(() => failed.ended);
  expect(failed.events).toEqual(['ERROR 504']);
});

test('protobuf events and errors are length-prefixed frames', async () => {
  const accept =
    'application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf,application/json';
  const client = await begin(`resourceVersion=${await make('a')}&allowWatchBookmarks=true`, { accept });
  const from = `resourceVersion=${await make('b')}`;
  await until(() => client.bytes.length === 1);
  await settle();
  client.closing.abort();
  await until(() => client.ended);
  const failed = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000', {
    accept,
  });
  await until(() => failed.ended);
  const events = [...client.bytes, ...failed.bytes].map((frame) => {
    expect(frame.readUInt32BE() + 4).toBe(frame.length);
    const at = frame.indexOf('k8s\0');
    const type = frame.subarray(6, 6 + (frame[5] as number)).toString();
    const { value } = parseProtobuf(frame.subarray(at), ({ kind: name }) =>
      name === 'Status' ? statusSchema : kind.schema,
    );
    return [type, decode(objectSchemaOf(type), value, () => {})];
  });
  expect(events).toMatchObject([
    ['ADDED', { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'b' } }],
    ['BOOKMARK', { kind: 'Robot', metadata: { resourceVersion: from.slice('resourceVersion='.length) } }],
    ['ERROR', { kind: 'Status', code: 504, reason: 'Timeout' }],
  ]);
});
const objectSchemaOf = (type: string): ObjectSchema => (type === 'ERROR' ? statusSchema : kind.schema);

test.each([
  ['as JSON', undefined, 0x1],
  ['as tables', 'application/json;as=Table;v=v1;g=meta.k8s.io', 0x1],
  ['as protobuf', 'application/vnd.kubernetes.protobuf', 0x2],
])('over a WebSocket each event and error is a message, %s', async (_, accept, opcode) => {
  const from = await make('a');
  await make('b', { large: 'x'.repeat(70_000) });
  await make('c');
  const client = await begin(`resourceVersion=${from}`, { accept, webSocket: true });
  const failed = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000', {
    accept,
    webSocket: true,
  });
  await until(() => failed.ended && client.bytes.length === 2);
  const payloads = messagesIn(Buffer.concat([...client.bytes, ...failed.bytes]), opcode);
  expect(payloads).toHaveLength(3);
  const said = payloads.map((payload) =>
    // A text message contains the line of a stream, and needs no length prefix.
    opcode === 0x1
      ? (JSON.parse(payload.toString()) as { type: string }).type
      : payload.subarray(2, 2 + (payload[1] as number)).toString(),
  );
  expect(said).toEqual(['ADDED', 'ADDED', 'ERROR']);
  client.leaving.abort();
});

test.each([
  ['tables', 'application/json;as=Table;v=v1;g=meta.k8s.io'],
  ['partial metadata', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'],
  ['protobuf', 'application/vnd.kubernetes.protobuf'],
])('events of large objects as %s are encoded once for all watchers, and keep their order', async (_, accept) => {
  const annotations = Object.fromEntries(Array.from({ length: 5_000 }, (__, n) => [`key-${n}`, 'x'.repeat(35)]));
  const from = `resourceVersion=${await make('a')}`;
  const clients = [await begin(from, { accept }), await begin(from, { accept })];
  // The first events may be encoded for each watch separately.
  await make('b');
  await until(() => clients.every(({ bytes }) => bytes.length === 1));
  await make('large', annotations);
  await make('c');
  await until(() => clients.every(({ bytes }) => bytes.length === 3));
  const [first, second] = clients.map(({ bytes }) => bytes);
  for (const at of [1, 2]) expect(second?.[at]).toBe(first?.[at]);
  expect(first?.[1]?.length).toBeGreaterThan(200_000);
  expect(first?.[1]?.includes('key-4999')).toBe(true);
  expect(first?.[2]?.length).toBeLessThan(2_000);
});

test('over a WebSocket watchers share the encoded message', async () => {
  const from = await make('a');
  const clients = [
    await begin(`resourceVersion=${from}`, { webSocket: true }),
    await begin(`resourceVersion=${from}`, { webSocket: true }),
  ];
  // The first events are encoded for each watch separately.
  await make('b');
  await until(() => clients.every(({ bytes }) => bytes.length === 1));
  await make('c');
  await until(() => clients.every(({ bytes }) => bytes.length === 2));
  expect(clients[0]?.bytes[1]).toBe(clients[1]?.bytes[1]);
});

/** The payloads of unmasked, unfragmented messages of one opcode. */
function messagesIn(bytes: Buffer, opcode: number): Buffer[] {
  const payloads: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at]).toBe(0x80 | opcode);
    const short = bytes[at + 1] as number;
    const [headBytes, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, bytes.readUInt16BE(at + 2)]
          : [10, Number(bytes.readBigUInt64BE(at + 2))];
    payloads.push(bytes.subarray(at + headBytes, at + headBytes + length));
    at += headBytes + length;
  }
  return payloads;
}
