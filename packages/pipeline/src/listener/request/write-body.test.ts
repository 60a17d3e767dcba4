import { describe, expect, test } from '@jest/globals';
import { firstPieceBytes, pieceBytes } from '../limits.ts';
import { EventEmitter } from 'node:events';
import { loopOf, systemClock } from '@cluster-apiserver/base';
import { sourceOf } from '../../../test/body-source.ts';
import { ReadyBodySource } from '../../body-source.ts';
import { type PieceBudget, writePieces } from './write-body.ts';

const unlimited: PieceBudget = {
  pieceBytes,
  isClientReading: () => true,
  isFull: () => false,
  waitForSpace: async () => {},
  waitForTurn: () => undefined,
  beginLong: () => undefined,
  waitForClient: (sent) => sent,
  endLong: () => {},
  addBuffered: () => {},
  addSent: () => {},
};

test.each([0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes + 5])(
  '%s bytes are cut into pieces that are never too long and lose nothing',
  (length) => {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => i % 251));
    for (const form of [bytes, bytes.toString('latin1')]) {
      const source = new ReadyBodySource(form);
      const pieces: Buffer[] = [];
      for (let piece = source.next(pieceBytes); piece; piece = source.next(pieceBytes)) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
      expect(pieces.every((piece) => piece.length > 0 && piece.length <= pieceBytes)).toBe(true);
    }
  },
);

test.each([
  ['small ones while its client has taken nothing', false, firstPieceBytes],
  ['whole ones once it has', true, pieceBytes],
])('a body leaves in %s', async (_, isProven, expected) => {
  const sizes: number[] = [];
  const outlet = {
    ...{ destroyed: false, writableEnded: false, writableLength: 0 },
    write: ({ length }: Buffer, sent?: () => void) => {
      sizes.push(length);
      sent?.();
      return true;
    },
    ...{ end: () => {}, on: () => {}, off: () => {} },
  };
  const budget = { ...unlimited, pieceBytes: expected, isClientReading: () => isProven };
  await writePieces(outlet, Buffer.alloc(2 * pieceBytes), budget);
  expect(new Set(sizes)).toEqual(new Set([expected]));
});

/** Takes written bytes on request. */
class HandOutlet extends EventEmitter {
  destroyed = false;
  readonly writableLength = 0;
  readonly writableEnded = false;
  readonly #sent: (() => void)[] = [];

  write(_bytes: Buffer, sent: () => void): boolean {
    this.#sent.push(sent);
    return false;
  }

  end(): void {}

  sendAll(): void {
    for (const sent of this.#sent.splice(0)) sent();
  }
}

describe.each(['before the first piece', 'while a piece leaves', 'while memory is awaited'])(
  'a client that leaves %s',
  (when) => {
    test('has no further piece made', async () => {
      const outlet = new HandOutlet();
      let made = 0;
      const pieces = function* (): Generator<Buffer> {
        for (;;) {
          made += 1;
          yield Buffer.alloc(1_000);
        }
      };
      const body = sourceOf(pieces(), 10 * pieceBytes);
      const room = Promise.withResolvers<void>();
      let isFull = when === 'before the first piece';
      const budget = { ...unlimited, isFull: () => isFull, waitForSpace: () => room.promise };
      const written = writePieces(outlet, body, budget);
      const before = made;
      expect(before).toBe(isFull ? 0 : 1);
      if (when === 'while memory is awaited') {
        isFull = true;
        outlet.sendAll();
        await new Promise(setImmediate);
      }
      outlet.destroyed = true;
      outlet.emit('close');
      outlet.sendAll();
      room.resolve();
      await written;
      expect(made).toBe(before);
    });
  },
);

test('pieces of all responses share the iterations of the event loop, and each is written when it is made', async () => {
  const soon: (() => void)[] = [];
  const loop = loopOf({ ...systemClock, monotonicMs: () => 0, soon: (callback) => void soon.push(callback) });
  const events: string[] = [];
  const outlet = (name: string) => ({
    ...{ destroyed: false, writableEnded: false, writableLength: 0 },
    write: () => {
      events.push(`${name} written`);
      return true;
    },
    ...{ end: () => {}, on: () => {}, off: () => {} },
  });
  function* piecesOf(name: string): Generator<Buffer> {
    for (let left = 2; left > 0; left--) {
      events.push(`${name} made`);
      yield Buffer.alloc(1);
    }
  }
  // Three at once, and then one in each iteration.
  const budget = { ...unlimited, waitForTurn: () => loop.turn('piece', 4) };
  const written = ['a', 'b', 'c', 'd'].map((name) => writePieces(outlet(name), sourceOf(piecesOf(name), 2), budget));
  const perIteration: string[][] = [];
  while (soon.length > 0) {
    await new Promise(setImmediate);
    perIteration.push(events.splice(0));
    for (const callback of soon.splice(0)) callback();
  }
  await Promise.all(written);
  const piece = (name: string): string[] => [`${name} made`, `${name} written`];
  expect(perIteration.filter(({ length }) => length > 0)).toEqual([
    [...piece('a'), ...piece('a'), ...piece('b'), ...piece('b'), ...piece('c'), ...piece('c'), ...piece('d')],
    piece('d'),
  ]);
});

test('pieces that waited for the same turn wait for memory before they are made', async () => {
  const soon: (() => void)[] = [];
  const loop = loopOf({ ...systemClock, monotonicMs: () => 0, soon: (callback) => void soon.push(callback) });
  let made = 0;
  function* pieces(): Generator<Buffer> {
    for (let left = 2; left > 0; left--) {
      made++;
      yield Buffer.alloc(1);
    }
  }
  let isFull = false;
  const space = Promise.withResolvers<void>();
  const budget = {
    ...unlimited,
    isFull: () => isFull,
    waitForSpace: () => space.promise,
    waitForTurn: () => loop.turn('piece', 10),
  };
  const outlet = {
    ...{ destroyed: false, writableEnded: false, writableLength: 0 },
    ...{ write: () => true, end: () => {}, on: () => {}, off: () => {} },
  };
  const written = [1, 2].map(() => writePieces(outlet, sourceOf(pieces(), 2), budget));
  await new Promise(setImmediate);
  expect(made).toBe(3);
  isFull = true;
  for (const callback of soon.splice(0)) callback();
  await new Promise(setImmediate);
  expect(made).toBe(3);
  isFull = false;
  space.resolve();
  await Promise.all(written);
  expect(made).toBe(4);
});
