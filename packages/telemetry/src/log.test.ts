import { beforeEach, describe, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createLog, type Log } from './index.ts';
import type { LogOptions } from './log.ts';

const new2026 = Date.UTC(2026, 0, 1);
let clock: FakeClock;
let lines: string[];
const open = (options: Partial<LogOptions> = {}): Log =>
  createLog({ clock, format: 'text', verbosity: 0, pid: 4711, write: (line) => lines.push(line), ...options });

beforeEach(() => {
  clock = fakeClock(new2026);
  lines = [];
});

describe('A line', () => {
  const failure = new Error('no answer', { cause: new TypeError('refused') });

  test('has the form of klog, with a component in the place of file and line', () => {
    const log = open({ verbosity: 2 }).withName('etcd');
    log.error('request failed', 'act', { verb: 'get', left: undefined, attempts: 3, again: false, error: failure });
    clock.advance(3_723_045);
    log.warn('slow', 'act');
    log.debug(2, 'detail');
    expect(lines).toEqual([
      'E0101 00:00:00.000000    4711 etcd] "request failed" verb="get" attempts=3 again=false err="no answer: TypeError: refused" remedy="act"\n',
      'W0101 01:02:03.045000    4711 etcd] "slow" remedy="act"\n',
      'I0101 01:02:03.045000    4711 etcd] "detail"\n',
    ]);
  });

  test("has the members of kube-apiserver's JSON, and its severity", () => {
    const log = open({ format: 'json', verbosity: 2 });
    log.debug(2, 'shown', { n: 1, unmeasured: Number.NaN });
    log.withName('etcd').error('request failed', 'act', { error: failure });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ts: new2026, level: 'info', logger: 'server', msg: 'shown', v: 2, n: 1, unmeasured: 'NaN' },
      {
        ts: new2026,
        level: 'error',
        logger: 'etcd',
        msg: 'request failed',
        v: 0,
        err: 'no answer: TypeError: refused',
        remedy: 'act',
      },
    ]);
  });

  test('of a level is written if the verbosity reaches it', () => {
    const log = open({ verbosity: 2 });
    log.debug(2, 'shown');
    log.debug(3, 'hidden');
    expect(lines).toHaveLength(1);
  });

  test('that is formatted later has the time at which it was logged', () => {
    const later: (() => string)[] = [];
    const log = open({ verbosity: 2, writeLater: (format) => later.push(format) });
    log.debug(2, 'HTTP', () => ({ resp: 200 }));
    clock.advance(1_000);
    expect(later.map((format) => format())).toEqual(['I0101 00:00:00.000000    4711 server] "HTTP" resp=200\n']);
  });

  test('has the time at which it was written, even if the clock goes back', () => {
    const log = open();
    for (const byMs of [999, 1, -500]) {
      clock.advance(byMs);
      log.info('now');
    }
    expect(lines.map((line) => line.slice(6, 21))).toEqual(['00:00:00.999000', '00:00:01.000000', '00:00:00.500000']);
  });
});

describe.each(['text', 'json'] as const)('Untrusted text in the format %s', (format) => {
  const logged = (text: string): string => {
    const log = open({ format });
    log.info('found', { agent: text });
    return lines.join('');
  };

  test.each([
    ['a line', 'a\nE0101 00:00:00.000000 1 server] "forged"'],
    ['a carriage return', 'a\rforged'],
    ['a field', 'a" user="admin'],
    ['a backslash before the quote', 'a\\" user="admin'],
    ['an escape sequence of a terminal', '\u001b[2J\u001b]0;forged\u0007'],
    ['a control sequence in one character', '\u009b2Jforged'],
    ['a deleted character', 'a\u007f'],
    ['text from right to left', 'a\u202eforged'],
    ['a separator of lines', 'a\u2028forged\u2029\u0085'],
    ['a byte order mark and blanks of no width', '\ufeff\u200bforged'],
    ['a blank that is no space', 'a\u00a0user'],
    ['half a character', 'a\ud800'],
    ['a tag beyond the basic plane', '\u{e0041}'],
  ])('cannot begin %s', (_, text) => {
    const line = logged(text);
    // Printable on one line, and read back as the same text.
    expect(line).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]*\n$/u);
    expect(line).not.toMatch(/(?! )\p{Zs}/u);
    const value = format === 'json' ? line : `{"agent":${/ agent=(".*")\n$/.exec(line)?.[1]}}`;
    expect(JSON.parse(value)).toMatchObject({ agent: text });
  });

  test('keeps letters of every script readable', () => {
    expect(logged('Zoë 名前 😀')).toContain('"Zoë 名前 😀"');
  });

  test('is truncated', () => {
    expect(logged('x'.repeat(10_000)).length).toBeLessThan(2_200);
  });

  test.each([
    ['a header that was quoted', 'header was "Bearer hush1"'],
    ['basic authentication', 'Basic aHVzaDE='],
    ['a JWT', 'in eyJhbGciOiJSUzI1NiJ9.eyJodXNoIjoxfQ.hush'],
    ['a URL with a password', 'https://joe:hush2@host/'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nhush3'],
  ])('does not show %s', (_, text) => {
    expect(logged(text)).toContain('[hidden]');
    expect(logged(text)).not.toMatch(/hush|aHVz|eyJ/);
  });
});

test('credentials inside messages and errors are hidden', () => {
  const log = open();
  log.warn('header was Bearer hush', 'act', { error: new Error('-----BEGIN PRIVATE KEY-----\nhush') });
  expect(lines.join('')).not.toContain('hush');
});

describe('A log that clients can fill', () => {
  test('writes a hundred lines with one message at once, then one per second with the number of suppressed lines', () => {
    const log = open();
    for (let count = 0; count < 1_000; count++) log.warn('authentication failed', 'act', { count });
    expect(lines).toHaveLength(100);
    expect(log.omitted).toEqual({ rate_limit: 900, backlog: 0, output_error: 0 });
    clock.advance(1_000);
    log.warn('authentication failed', 'act', { count: 1_000 });
    log.warn('authentication failed', 'act', { count: 1_001 });
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toContain('"authentication failed" count=1000 remedy="act" suppressed=900');
  });

  test('reports suppressed lines even if no line follows', () => {
    const log = open();
    for (let count = 0; count < 150; count++) log.warn('authentication failed', 'act');
    clock.advance(10_000);
    expect(lines.at(-1)).toContain('"authentication failed" suppressed=50');
    expect(clock.waiting).toBe(0);
  });

  test('does not limit other messages, other components and debug lines', () => {
    const log = open({ verbosity: 1 });
    for (let count = 0; count < 200; count++) log.warn('request failed', 'act');
    log.error('etcd unreachable', 'act');
    log.withName('etcd').warn('request failed', 'act');
    for (let count = 0; count < 200; count++) log.debug(1, 'detail');
    expect(lines.filter((line) => line.includes('etcd unreachable'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('etcd] "request failed"'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('detail'))).toHaveLength(200);
  });

  test('bounds the number of messages that it tracks', () => {
    const log = open();
    for (let count = 0; count < 1_000; count++) log.warn(`message ${count}`, 'act');
    expect(lines).toHaveLength(256 + 100);
  });
});

describe('A log that could not write some lines', () => {
  const texts = (): string[] =>
    lines.map((line) =>
      line
        .slice(line.indexOf(']') + 2)
        .replace(/ remedy=.*/, '')
        .trim(),
    );

  test('reports how many lines were dropped because the reader was too slow', () => {
    let full = true;
    const log = open({ write: (line) => !full && lines.push(line) > 0 });
    for (let count = 0; count < 3; count++) log.info(`lost ${count}`);
    full = false;
    log.info('found');
    expect(texts()).toEqual(['"log lines dropped" count=3', '"found"']);
    expect(log.omitted).toMatchObject({ backlog: 3 });
  });

  test('reports once how many accepted lines were lost', () => {
    let lost = 0;
    const log = open({ lostLines: () => lost });
    log.info('first');
    lost = 2;
    log.info('second');
    log.info('third');
    expect(texts()).toEqual(['"first"', '"log lines dropped" count=2', '"second"', '"third"']);
    expect(log.omitted).toMatchObject({ output_error: 2 });
  });
});
