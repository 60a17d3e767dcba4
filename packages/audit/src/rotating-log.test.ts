import path from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import type { LogFiles } from './log-files.ts';
import { RotatingLog, type RotatingLogOptions } from './rotating-log.ts';

/** Files in memory, whose writes and renames fail as a test says. */
let clock: FakeClock;
let contents: Map<string, string>;
let failures: string[];
/** The errors of the next writes; a number writes so many bytes. */
let writes: (string | number)[];
let failsToOpen: boolean;
let failsToRename: boolean;

const failing = (code: string): Error => Object.assign(new Error(code), { code });
const files: LogFiles = {
  open: async (file) => {
    if (failsToOpen) throw failing('EACCES');
    if (!contents.has(file)) contents.set(file, '');
    return {
      size: async () => contents.get(file)?.length ?? 0,
      write: async (bytes) => {
        const next = writes.shift();
        if (typeof next === 'string') throw failing(next);
        const taken = bytes.subarray(0, next);
        contents.set(file, contents.get(file) + taken.toString());
        return taken.length;
      },
      truncate: async (sizeBytes) => void contents.set(file, contents.get(file)?.slice(0, sizeBytes) ?? ''),
      close: async () => {},
    };
  },
  standardOutput: () => {
    throw new Error('not in this test');
  },
  list: async (directory) =>
    [...contents.keys()].filter((file) => path.dirname(file) === directory).map((file) => path.basename(file)),
  rename: async (from, to) => {
    if (failsToRename) throw failing('EACCES');
    contents.set(to, contents.get(from) ?? '');
    contents.delete(from);
  },
  remove: async (file) => void contents.delete(file),
  compress: async (from, to) => void contents.set(to, `compressed ${contents.get(from)}`),
};

beforeEach(() => {
  clock = fakeClock();
  contents = new Map();
  failures = [];
  writes = [];
  failsToOpen = false;
  failsToRename = false;
});

async function openLog(options: Partial<RotatingLogOptions> = {}): Promise<RotatingLog> {
  const log = new RotatingLog({
    files,
    clock,
    path: '/logs/audit.log',
    fileBytesMax: 10,
    backupsMax: 0,
    ageDaysMax: 0,
    compress: false,
    rotationFailed: (error) => void failures.push(String(error)),
    foundOtherWriter: () => void failures.push('another writer'),
    ...options,
  });
  await log.open();
  return log;
}

const all = (): Record<string, string> =>
  Object.fromEntries([...contents].sort(([one], [other]) => (one < other ? -1 : 1)));

describe('A log', () => {
  test('has a line for each event', async () => {
    const log = await openLog();
    await log.append(['a', 'b']);
    await log.append(['c']);
    expect(all()).toEqual({ '/logs/audit.log': 'a\nb\nc\n' });
  });

  test('reports another process that writes to the file, and knows its size', async () => {
    const log = await openLog({ fileBytesMax: 100 });
    await log.append(['a']);
    clock.advance(10_000);
    await log.append(['b']);
    expect(failures).toEqual([]);
    contents.set('/logs/audit.log', `${contents.get('/logs/audit.log')}${'x'.repeat(96)}\n`);
    clock.advance(10_000);
    await log.append(['c']);
    await log.append(['d']);
    expect(failures).toEqual(['another writer']);
    expect(Object.keys(all())).toHaveLength(2);
  });

  test('holds a batch that is larger than the usual buffer, and one with multi-byte characters', async () => {
    const log = await openLog({ fileBytesMax: 10_000_000 });
    const lines = ['a'.repeat(600_000), 'ä€😀'.repeat(1_000), 'b'.repeat(600_000)];
    await log.append(lines);
    await log.append(['ä€😀']);
    expect(all()).toEqual({ '/logs/audit.log': `${[...lines, 'ä€😀'].join('\n')}\n` });
  });

  test('is appended to after a restart', async () => {
    contents.set('/logs/audit.log', 'old\n');
    await (await openLog()).append(['new']);
    expect(all()).toEqual({ '/logs/audit.log': 'old\nnew\n' });
  });

  test('is rotated before it would be too large, and never within a batch', async () => {
    const log = await openLog();
    for (const lines of [['1234'], ['5678'], ['9'], ['a batch', 'that is long'], ['b']]) await log.append(lines);
    expect(all()).toEqual({
      '/logs/audit-2026-01-01T00-00-00.000.log': '1234\n5678\n',
      '/logs/audit-2026-01-01T00-00-00.001.log': '9\n',
      '/logs/audit-2026-01-01T00-00-00.002.log': 'a batch\nthat is long\n',
      '/logs/audit.log': 'b\n',
    });
  });

  test('keeps growing if it cannot be renamed', async () => {
    failsToRename = true;
    const log = await openLog();
    await log.append(['12345678']);
    await log.append(['9']);
    expect(all()).toEqual({ '/logs/audit.log': '12345678\n9\n' });
    expect(failures).toEqual(['Error: EACCES']);
  });

  test('has no partial line after a failed write and continues when writes succeed again', async () => {
    const log = await openLog({ fileBytesMax: 100 });
    await log.append(['a']);
    writes = [3, 'ENOSPC'];
    await expect(log.append(['lost'])).rejects.toThrow('ENOSPC');
    await log.append(['b']);
    expect(all()).toEqual({ '/logs/audit.log': 'a\nb\n' });
  });

  test('continues after a partial write and after EAGAIN on a full pipe', async () => {
    const log = await openLog({ fileBytesMax: 100 });
    writes = [2, 'EAGAIN', 1];
    const appended = log.append(['abcdef']);
    await untilTurned(() => clock.waiting === 1);
    clock.advance(20);
    await appended;
    expect(all()).toEqual({ '/logs/audit.log': 'abcdef\n' });
  });

  test('that cannot be opened is reported at once and reopened for each batch', async () => {
    failsToOpen = true;
    await expect(openLog()).rejects.toThrow('EACCES');
    failsToOpen = false;
    const log = await openLog();
    writes = ['EIO'];
    await expect(log.append(['a'])).rejects.toThrow('EIO');
    failsToOpen = true;
    await expect(log.append(['b'])).rejects.toThrow('EACCES');
    failsToOpen = false;
    await log.append(['c']);
    expect(all()).toEqual({ '/logs/audit.log': 'c\n' });
  });
});

describe('Renamed files', () => {
  const old = (name: string): void => void contents.set(`/logs/${name}`, name);

  test('beyond the maximum number are removed, the oldest first', async () => {
    old('audit-2025-12-30T00-00-00.000.log');
    old('audit-2025-12-31T00-00-00.000.log.gz');
    old('audit-2025-12-31T00-00-00.500.log');
    await (await openLog({ backupsMax: 2 })).close();
    expect(Object.keys(all())).toEqual([
      '/logs/audit-2025-12-31T00-00-00.000.log.gz',
      '/logs/audit-2025-12-31T00-00-00.500.log',
      '/logs/audit.log',
    ]);
  });

  test('that are too old are removed', async () => {
    old('audit-2025-12-28T23-00-00.000.log');
    old('audit-2025-12-29T01-00-00.000.log');
    await (await openLog({ ageDaysMax: 3 })).close();
    expect(Object.keys(all())).toEqual(['/logs/audit-2025-12-29T01-00-00.000.log', '/logs/audit.log']);
  });

  test('are compressed', async () => {
    const log = await openLog({ compress: true });
    await log.append(['12345678']);
    await log.append(['9']);
    await log.close();
    expect(all()).toEqual({
      '/logs/audit-2026-01-01T00-00-00.000.log.gz': 'compressed 12345678\n',
      '/logs/audit.log': '9\n',
    });
  });

  test.each([
    'other.log',
    'audit-.log',
    'audit-2025.log',
    'audit-2025-12-28T23-00-00.000.txt',
    'audit-2025-13-28T23-00-00.000.log',
  ])('do not include %s, which is left alone', async (name) => {
    old(name);
    await (await openLog({ ageDaysMax: 1, backupsMax: 1, compress: true })).close();
    expect(Object.keys(all())).toContain(`/logs/${name}`);
  });
});
