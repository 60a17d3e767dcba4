import { CleanupStack } from '@cluster-apiserver/base';
import { createLog, createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createFileRecords } from './file-records.ts';
import { type FileSource, followFiles } from './follow-files.ts';

let directory: string;
let file: string;
const cleanup = new CleanupStack();
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'follow-files-'));
  file = path.join(directory, 'file');
  fs.writeFileSync(file, 'first');
});
afterEach(async () => {
  await cleanup.close();
  fs.rmSync(directory, { recursive: true });
});

type Source = FileSource<Buffer, { readonly text: string }>;

/** Follows the file. A content with `bad` cannot be built. */
async function follow(options: Partial<Source> = {}, brokenLog?: (line: string) => void) {
  const clock = fakeClock();
  const records = createFileRecords(clock, createMetrics({ ofProcess: false }));
  const [lines, opened, closed, reloads]: string[][] = [[], [], [], []];
  const write = (line: string): void => {
    brokenLog?.(line);
    lines?.push(line);
  };
  const source: Source = {
    name: 'rules',
    files: [{ flag: 'rules-file', kind: 'Rules', path: file }],
    read: () => readFile(file),
    bytesOf: (content) => [content],
    build: (content, cleanupOfValue) => {
      const text = content.toString();
      opened?.push(text);
      cleanupOfValue.defer('the value', () => void closed?.push(text));
      if (text.includes('bad')) throw new Error(`${text} is invalid`);
      return { text };
    },
    measures: { applied: () => {}, reloaded: (status) => reloads?.push(status) },
    ...options,
  };
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write });
  const followed = await followFiles(source, { environment: { clock }, records, log });
  cleanup.defer('followed files', followed.close);
  return {
    ...followed,
    clock,
    text: () => followed.current().text,
    reported: () => (lines ?? []).filter((line) => line.startsWith('E')),
    applied: () => (lines ?? []).filter((line) => line.includes('configuration reloaded')),
    shown: () => records.list()[0],
    opened,
    closed,
    reloads,
    records,
  };
}

const rename = (content: string): void => {
  fs.writeFileSync(`${file}.next`, content);
  fs.renameSync(`${file}.next`, file);
};
/** As Kubernetes updates volumes: a symbolic link to a directory is replaced. */
const swap = (content: string): void => {
  const version = path.join(directory, `version-${content}`);
  fs.mkdirSync(version);
  fs.writeFileSync(path.join(version, 'file'), content);
  fs.symlinkSync(version, path.join(directory, 'next'));
  fs.renameSync(path.join(directory, 'next'), path.join(directory, 'current'));
};

test.each([
  ['an edit in place', (content: string) => fs.writeFileSync(file, content)],
  ['a rename', rename],
  ['a swapped symbolic link', swap],
])('%s is applied once, each time', async (_, write) => {
  if (write === swap) {
    swap('first');
    fs.rmSync(file);
    fs.symlinkSync(path.join(directory, 'current', 'file'), file);
  }
  const { text, reload, opened, reported } = await follow();
  for (const content of ['second', 'third']) {
    write(content);
    await reload();
    await reload();
    expect(text()).toBe(content);
  }
  expect(opened).toEqual(['first', 'second', 'third']);
  expect(reported()).toEqual([]);
});

test('the file is polled until it is no longer followed', async () => {
  const { clock, text, close } = await follow();
  rename('second');
  clock.advance(1_000);
  await untilTurned(() => text() === 'second');
  await untilTurned(() => clock.waiting === 1);
  await close();
  expect(clock.waiting).toBe(0);
});

test('a file that is not reloaded is not polled', async () => {
  const { clock } = await follow({ reloads: false });
  expect(clock.waiting).toBe(0);
});

test('an invalid first content is thrown, and what was opened for it is closed', async () => {
  rename('bad');
  const closed: string[] = [];
  const build: Source['build'] = (content, opened) => {
    opened.defer('the value', () => void closed.push(content.toString()));
    throw new Error('invalid');
  };
  await expect(follow({ build })).rejects.toThrow('invalid');
  expect(closed).toEqual(['bad']);
});

test('an invalid content keeps the previous one, closes what it opened, and is reported once until it changes', async () => {
  const { text, reload, reported, closed, reloads, shown } = await follow();
  rename('bad');
  await reload();
  await reload();
  expect(text()).toBe('first');
  expect(reported()).toHaveLength(1);
  expect(reported()[0]).toContain('configuration="rules" flag="rules-file"');
  expect(closed).toEqual(['bad', 'bad']);
  const firstHash = shown()?.hash;
  expect(shown()?.lastReloadError?.message).toBe('bad is invalid');
  // The previous content is applied again, which ends the error.
  rename('first');
  await reload();
  expect(shown()?.lastReloadError).toBeUndefined();
  expect(shown()?.hash).toBe(firstHash);
  rename('bad');
  await reload();
  expect(reported()).toHaveLength(2);
  expect(reloads).toEqual(['failure', 'success', 'failure']);
});

test('a value that is not accepted is closed, and the present one stays', async () => {
  const accept = ({ text }: { readonly text: string }): void => {
    if (text === 'second') throw new Error('unhealthy');
  };
  const { text, reload, closed, reported } = await follow({ accept });
  rename('second');
  await reload();
  expect([text(), closed]).toEqual(['first', ['second']]);
  expect(reported()[0]).toContain('unhealthy');
});

test('a later content is applied although reporting an error failed', async () => {
  let failures = 0;
  const { text, reload, reported } = await follow({}, (line) => {
    if (line.startsWith('E') && failures++ === 0) throw new Error('the log is full');
  });
  rename('bad');
  await reload();
  await reload();
  expect(reported()).toHaveLength(1);
  rename('second');
  await reload();
  expect(text()).toBe('second');
});

test('a missing file is reported once, and followed until it is back', async () => {
  const { text, reload, reported, applied } = await follow();
  fs.rmSync(file);
  await reload();
  await reload();
  expect(reported()).toHaveLength(1);
  expect(reported()[0]).toContain('ENOENT');
  rename('first');
  await reload();
  await reload();
  expect(applied()).toHaveLength(1);
  fs.rmSync(file);
  await reload();
  rename('second');
  await reload();
  expect(text()).toBe('second');
});

test('a replaced value is retired as its source says, and closed at the latest when the file is no longer followed', async () => {
  const retired: string[] = [];
  const { reload, closed, close, records } = await follow({ retire: ({ text }) => void retired.push(text) });
  for (const content of ['second', 'third']) {
    rename(content);
    await reload();
  }
  expect([retired, closed]).toEqual([['first', 'second'], []]);
  await close();
  expect(closed).toEqual(['first', 'second', 'third']);
  expect(records.list()).toEqual([]);
});

test('listeners hear of a value when it is current, and a value without a retirement is closed then', async () => {
  const heard: string[] = [];
  const { onChange, reload, text, closed } = await follow();
  onChange(() => heard.push(text()));
  rename('second');
  await reload();
  expect([heard, closed]).toEqual([['second'], ['first']]);
});

test('a value that is ready after the file is no longer followed is closed', async () => {
  const gate = Promise.withResolvers<void>();
  const closed: string[] = [];
  let isBuilding = false;
  const { reload, close, text } = await follow({
    build: async (content, opened) => {
      const value = content.toString();
      opened.defer('the value', () => void closed.push(value));
      isBuilding = value === 'second';
      if (isBuilding) await gate.promise;
      return { text: value };
    },
  });
  rename('second');
  const reloading = reload();
  await untilTurned(() => isBuilding);
  await close();
  gate.resolve();
  await reloading;
  expect(text()).toBe('first');
  expect(closed.toSorted()).toEqual(['first', 'second']);
});

test('contents are applied in the order in which they were read', async () => {
  const gate = Promise.withResolvers<void>();
  const { reload, text } = await follow({
    build: async (content) => {
      const value = content.toString();
      if (value === 'second') await gate.promise;
      return { text: value };
    },
  });
  rename('second');
  const slow = reload();
  await untilTurned(() => true);
  rename('third');
  const fast = reload();
  gate.resolve();
  await Promise.all([slow, fast]);
  expect(text()).toBe('third');
});
