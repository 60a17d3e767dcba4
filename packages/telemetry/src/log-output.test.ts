import { beforeEach, describe, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { LogOutput } from './index.ts';

let clock: FakeClock;
let soon: (() => void)[];
const turn = (): void => soon.splice(0).forEach((callback) => callback());

type Done = (error: NodeJS.ErrnoException | null, written: number) => void;
let writes: { readonly text: string; readonly done: Done }[];
let written: string;

beforeEach(() => {
  clock = { ...fakeClock(), soon: (callback) => void soon.push(callback) };
  soon = [];
  writes = [];
  written = '';
});

const open = (writeSync = (bytes: Buffer): number => ((written += bytes.toString()), bytes.length)) =>
  new LogOutput({ write: (bytes, done) => void writes.push({ text: bytes.toString(), done }), writeSync }, clock);

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

describe('The output of a log', () => {
  test('runs one write at a time, and writes lines that arrive meanwhile together', () => {
    const output = open();
    output.write('a\n');
    output.write('b\n');
    expect(writes).toEqual([]);
    turn();
    output.write('c\n');
    output.write('d\n');
    turn();
    expect(writes.map(({ text }) => text)).toEqual(['a\nb\n']);
    writes[0]?.done(null, 4);
    output.write('e\n');
    turn();
    expect(writes).toHaveLength(1);
    clock.advance(50);
    expect(writes.map(({ text }) => text)).toEqual(['a\nb\n', 'c\nd\ne\n']);
  });

  test('does not hold the texts of which the parts of waiting lines are', () => {
    const output = open();
    output.write('a\n');
    turn();
    const characters = 60_000;
    const before = usedHeapBytes();
    for (let at = 0; at < 500; at++) {
      const text = Buffer.from(`${at}${'x'.repeat(characters)}`).toString();
      expect(output.write(`name="${text.slice(0, 100)}"\n`)).toBe(true);
    }
    expect(usedHeapBytes() - before).toBeLessThan(100 * characters);
  });

  test('writes a line after a pause without delay', () => {
    const output = open();
    output.write('a\n');
    turn();
    writes[0]?.done(null, 2);
    clock.advance(50);
    output.write('b\n');
    turn();
    expect(writes.map(({ text }) => text)).toEqual(['a\n', 'b\n']);
  });

  test('formats deferred lines when they are written, in order', () => {
    const output = open();
    let formatted = 0;
    output.write('a\n');
    output.writeLater(() => `b${++formatted}\n`);
    output.write('c\n');
    expect(formatted).toBe(0);
    turn();
    expect(writes.map(({ text }) => text)).toEqual(['a\nb1\nc\n']);
  });

  test('does not collect more than the queue can hold', () => {
    const output = open();
    output.write('a\n');
    turn();
    writes[0]?.done(null, 2);
    for (let count = 0; count < 512; count++) output.writeLater(() => 'x');
    turn();
    expect(writes.map(({ text }) => text.length)).toEqual([2, 512]);
    clock.advance(50);
    expect(writes).toHaveLength(2);
  });

  test('continues after a partial write, and after a pause if a pipe is full', () => {
    const output = open();
    output.write('abcd');
    turn();
    writes[0]?.done(null, 1);
    writes[1]?.done(failure('EAGAIN'), 0);
    expect(writes.map(({ text }) => text)).toEqual(['abcd', 'bcd']);
    clock.advance(20);
    expect(writes.map(({ text }) => text)).toEqual(['abcd', 'bcd', 'bcd']);
  });

  test('continues after a failed write and drops its lines', () => {
    const output = open();
    output.write('a');
    turn();
    output.write('b');
    writes[0]?.done(failure('EPIPE'), 0);
    clock.advance(50);
    expect(writes.map(({ text }) => text)).toEqual(['a', 'b']);
    expect(output.lostLines).toBe(1);
    writes[1]?.done(null, 1);
    expect(output.lostLines).toBe(1);
  });

  test('drops lines if a slow reader leaves no space', () => {
    const output = open();
    output.write('first');
    turn();
    const line = 'x'.repeat(1024);
    expect(Array.from({ length: 1024 }, () => output.write(line)).every(Boolean)).toBe(true);
    expect(output.write(line)).toBe(false);
    writes[0]?.done(null, 5);
    turn();
    expect(output.write(line)).toBe(true);
  });

  test('writes its last lines before the process ends', () => {
    const output = open();
    output.write('a');
    turn();
    output.write('b');
    output.flushSync();
    expect(written).toBe('ab');
  });

  test('does not wait at the end for a reader that does not read', () => {
    const output = open(() => {
      throw new Error('this would block');
    });
    output.write('a');
    turn();
    clock.advance(201);
    output.flushSync();
    expect(written).toBe('');
  });
});
