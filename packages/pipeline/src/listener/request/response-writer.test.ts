import { expect, test } from '@jest/globals';
import { createConnection, processBytes } from '../../../test/connection-bytes.ts';
import { firstPieceBytes, pieceBytes, readingClientBytesMin, smallestPieceBytes } from '../limits.ts';
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
