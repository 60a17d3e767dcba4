import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Clock } from '@cluster-apiserver/base';
import { createLog, createLogOutput } from './index.ts';

let nowMs: number;
let timers: { readonly atMs: number; readonly ring: () => void }[];
let soon: (() => void)[];
const clock: Clock = {
  now: () => Date.UTC(2026, 0, 1),
  monotonicMs: () => nowMs,
  after: (delayMs, ring) => {
    const timer = { atMs: nowMs + delayMs, ring };
    timers.push(timer);
    return () => {
      timers = timers.filter((other) => other !== timer);
    };
  },
  soon: (callback) => void soon.push(callback),
};
function move(ms: number): void {
  nowMs += ms;
  const due = timers.filter(({ atMs }) => atMs <= nowMs);
  timers = timers.filter((timer) => !due.includes(timer));
  for (const { ring } of due) ring();
}
const turn = (): void => soon.splice(0).forEach((callback) => callback());

type Done = (error: NodeJS.ErrnoException | null, written: number) => void;
let writes: { readonly text: string; readonly done: Done }[];
let written: string;

beforeEach(() => {
  nowMs = 0;
  timers = [];
  soon = [];
  writes = [];
  written = '';
});

const open = (writeSync = (bytes: Buffer): number => ((written += bytes.toString()), bytes.length)) =>
  createLogOutput({ write: (bytes, done) => void writes.push({ text: bytes.toString(), done }), writeSync }, clock);

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

describe('The output of a log', () => {
  test('writes one piece at a time, and what comes meanwhile together', () => {
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
    expect(writes.map(({ text }) => text)).toEqual(['a\nb\n', 'c\nd\n']);
  });

  test('goes on after a part, and after a pause where a pipe is full', () => {
    const output = open();
    output.write('abcd');
    turn();
    writes[0]?.done(null, 1);
    writes[1]?.done(failure('EAGAIN'), 0);
    expect(writes.map(({ text }) => text)).toEqual(['abcd', 'bcd']);
    move(20);
    expect(writes.map(({ text }) => text)).toEqual(['abcd', 'bcd', 'bcd']);
  });

  test('goes on without what nobody reads', () => {
    const output = open();
    output.write('a');
    turn();
    output.write('b');
    writes[0]?.done(failure('EPIPE'), 0);
    expect(writes.map(({ text }) => text)).toEqual(['a', 'b']);
  });

  test('drops what a slow reader leaves no room for', () => {
    const output = open();
    output.write('first');
    turn();
    const line = 'x'.repeat(1024);
    expect(Array.from({ length: 1024 }, () => output.write(line)).every(Boolean)).toBe(true);
    expect(output.write(line)).toBe(false);
    writes[0]?.done(null, 5);
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
    move(201);
    output.flushSync();
    expect(written).toBe('');
  });
});

describe('A log that clients can fill', () => {
  const lines: string[] = [];
  const openLog = (write: (line: string) => unknown = (line) => lines.push(line)) => {
    lines.length = 0;
    return createLog({ clock, format: 'text', verbosity: 1, write });
  };

  test('holds a hundred lines with one message at once, then one in a second, and how many are missing', () => {
    const log = openLog();
    for (let count = 0; count < 1_000; count++) log.warn('authentication failed', { count });
    expect(lines).toHaveLength(100);
    move(1_000);
    log.warn('authentication failed', { count: 1_000 });
    log.warn('authentication failed', { count: 1_001 });
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toContain('authentication failed count=1000 suppressed=900');
  });

  test('reports what is missing also when nothing follows', () => {
    const log = openLog();
    for (let count = 0; count < 150; count++) log.warn('authentication failed');
    move(10_000);
    expect(lines.at(-1)).toContain('authentication failed suppressed=50');
    expect(timers).toEqual([]);
  });

  test('holds other messages, and details that were asked for', () => {
    const log = openLog();
    for (let count = 0; count < 200; count++) log.warn('authentication failed');
    log.error('etcd unreachable');
    for (let count = 0; count < 200; count++) log.debug(1, 'detail');
    expect(lines.filter((line) => line.includes('etcd unreachable'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('detail'))).toHaveLength(200);
  });

  test('remembers no more messages than there can be, whatever stands in them', () => {
    const log = openLog();
    for (let count = 0; count < 1_000; count++) log.warn(`message ${count}`);
    expect(lines).toHaveLength(256 + 100);
  });

  test('says how many lines its reader was too slow for', () => {
    let full = false;
    const log = openLog((line) => !full && lines.push(line) > 0);
    full = true;
    for (let count = 0; count < 3; count++) log.info(`lost ${count}`);
    full = false;
    log.info('found');
    expect(lines.map((line) => line.slice(25).trim())).toEqual(['WARN  log lines dropped count=3', 'INFO  found']);
  });
});
