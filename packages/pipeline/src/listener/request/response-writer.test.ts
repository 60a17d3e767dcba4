import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { MemoryBudget } from '../connection/memory-budget.ts';
import { firstPieceBytes, pieceBytes, readingClientBytesMin, smallestPieceBytes } from '../limits.ts';
import { type ConnectionBytes, type ProcessBytes, ResponseWriter } from './response-writer.ts';

const processBytes: ProcessBytes = {
  nowMs: 0,
  responseBytes: new MemoryBudget(Number.POSITIVE_INFINITY),
  loop: { turn: () => undefined },
  draining: new AbortController().signal,
};
const createConnection = (): ConnectionBytes => ({
  owner: 'ann',
  sentResponseBytes: 0,
  responseBytes: new MemoryBudget(Number.POSITIVE_INFINITY, processBytes.responseBytes),
});
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

test('responses that were sent are not promoted by V8', () => {
  const steps = 50;
  const numbers = 1_000;
  const bytes = promotedBytes(steps, () => {
    const content = Array.from({ length: numbers }, (_, at) => at + 0.5);
    const pieces = new ResponseWriter(Object.assign(createConnection(), { content }), processBytes);
    pieces.addBuffered(pieces.pieceBytes);
    pieces.addSent(pieces.pieceBytes);
  });
  const bytesPerNumber = 8;
  expect(bytes).toBeLessThan((steps * numbers * bytesPerNumber) / 5);
});
