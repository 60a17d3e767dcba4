import { expect, test } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { requireValue } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createConnection, processBytes } from '../../../test/connection-bytes.ts';
import { Budget } from '../connection/budget.ts';
import {
  firstPieceBytes,
  longResponsesMax,
  pieceBytes,
  readingClientBytesMin,
  slowClientMs,
  smallestPieceBytes,
} from '../limits.ts';
import { type ConnectionBytes, ResponseWriter } from './response-writer.ts';

const createPieces = (connection: ConnectionBytes, beginningBytes: number): ResponseWriter =>
  Object.assign(new ResponseWriter(connection, processBytes), { beginningBytes });

test('pieces are whole for a client that has read a response on its connection', () => {
  const connection = createConnection();
  expect(createPieces(connection, firstPieceBytes).pieceBytes).toBe(firstPieceBytes);
  const first = createPieces(connection, firstPieceBytes);
  first.addBuffered(readingClientBytesMin);
  first.addSent(readingClientBytesMin);
  expect(first.pieceBytes).toBe(pieceBytes);
  expect(createPieces(connection, firstPieceBytes).pieceBytes).toBe(pieceBytes);
});

test('a stream with a tiny window gets whole pieces when it has read enough itself', () => {
  const connection = createConnection();
  connection.sentResponseBytes = readingClientBytesMin;
  const narrow = createPieces(connection, smallestPieceBytes);
  expect(narrow.pieceBytes).toBe(smallestPieceBytes);
  narrow.addSent(readingClientBytesMin);
  expect(narrow.pieceBytes).toBe(pieceBytes);
});

/** Long responses of these users, whose clients take a piece when the test says so. */
function writeLong(owners: readonly string[], full: readonly string[] = []) {
  const clock = fakeClock();
  const process = { ...processBytes, clock, longResponses: new Budget(longResponsesMax) };
  const responses = owners.map((owner) => {
    const bytesMax = full.includes(owner) ? 0 : Number.POSITIVE_INFINITY;
    const own = { owner, sentResponseBytes: readingClientBytesMin, responseBytes: new Budget(bytesMax) };
    const connection = { ...createConnection(), ...own };
    const [response, outlet] = [new ResponseWriter(connection, process), new SlowOutlet()];
    return { owner, response, outlet, written: response.write(outlet, Buffer.alloc(2 * pieceBytes)) };
  });
  const begun = (): number[] =>
    responses.flatMap(({ outlet }, at) => (outlet.pieces > 0 && !outlet.destroyed ? at : []));
  return { clock, responses, begun };
}

class SlowOutlet extends EventEmitter {
  pieces = 0;
  destroyed = false;
  readonly writableLength = 0;
  readonly writableEnded = false;

  write(): boolean {
    this.pieces++;
    return false;
  }

  end(): void {}

  async takePieces(count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      this.emit('drain');
      await new Promise(setImmediate);
    }
  }
}

const users = (count: number, name: string): string[] => Array.from({ length: count }, () => name);
const first = Array.from({ length: longResponsesMax }, (_, at) => at);

test('a long response begins when one of those before it has been written, and users alternate', async () => {
  const { responses, begun } = writeLong([...users(longResponsesMax + 3, 'greedy'), 'polite']);
  await new Promise(setImmediate);
  expect(begun()).toEqual(first);
  await requireValue(responses[0]).outlet.takePieces(2);
  expect(begun()).toEqual([...first, longResponsesMax]);
  await requireValue(responses[1]).outlet.takePieces(2);
  expect(begun()).toEqual([...first, longResponsesMax, longResponsesMax + 3]);
  expect(responses.slice(2, longResponsesMax).map(({ outlet }) => outlet.pieces)).toEqual(first.slice(2).map(() => 1));
});

test('clients that do not read hold up a long response for a moment', async () => {
  const { clock, responses, begun } = writeLong(users(longResponsesMax + 1, 'ann'));
  await new Promise(setImmediate);
  clock.advance(slowClientMs - 1);
  await new Promise(setImmediate);
  expect(begun()).toEqual(first);
  clock.advance(1);
  await new Promise(setImmediate);
  expect(begun()).toEqual([...first, longResponsesMax]);
  // They go on, although others have begun.
  const slow = requireValue(responses[0]);
  await slow.outlet.takePieces(1);
  expect(slow.outlet.pieces).toBe(2);
});

test('a long response whose client leaves lets the next one begin, before it has begun and after it', async () => {
  const { responses, begun } = writeLong(users(longResponsesMax + 2, 'ann'));
  await new Promise(setImmediate);
  for (const at of [longResponsesMax, 0]) {
    const { response, outlet } = requireValue(responses[at]);
    outlet.destroyed = true;
    outlet.emit('close');
    response.finish();
  }
  await new Promise(setImmediate);
  expect(begun()).toEqual([...first.slice(1), longResponsesMax + 1]);
  await Promise.all([responses[0]?.written, responses[longResponsesMax]?.written]);
});

test('responses that wait for the memory of their connection hold up no others', async () => {
  const { begun } = writeLong([...users(longResponsesMax + 1, 'stalled'), 'polite'], ['stalled']);
  await new Promise(setImmediate);
  expect(begun()).toEqual([longResponsesMax + 1]);
});
