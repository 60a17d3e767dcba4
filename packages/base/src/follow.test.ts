import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock as clock } from './clock.ts';
import { follow } from './follow.ts';

let directory: string;
let file: string;
let used: string[];
let told: string[];
let reads: number;
let stop: () => void;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'follow-'));
  file = path.join(directory, 'file');
  used = [];
  told = [];
  reads = 0;
});
afterEach(() => {
  stop();
  fs.rmSync(directory, { recursive: true });
});

/** What contains `bad` is not usable. */
function start(): void {
  stop = follow(
    {
      clock,
      pollMs: 1,
      read: () => readFile(file, 'utf8').finally(() => reads++),
      same: (one, other) => one === other,
      use: (next) => {
        if (next.includes('bad')) throw new Error(`${next} is not usable`);
        used.push(next);
      },
      failed: (error) => told.push(String(error)),
    },
    fs.readFileSync(file, 'utf8'),
  );
}

async function until(fact: () => boolean): Promise<void> {
  for (let rounds = 0; !fact(); rounds++) {
    if (rounds > 5_000) throw new Error(`in vain; used ${used.join()}, told ${told.join()}`);
    await new Promise<void>((resolve) => void clock.after(1, resolve));
  }
}

const rename = (content: string): void => {
  fs.writeFileSync(`${file}.next`, content);
  fs.renameSync(`${file}.next`, file);
};
/** The way of Kubernetes with volumes: the file leads into a directory that is exchanged as a whole. */
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
])('%s is noticed, each time, and once', async (_, write) => {
  if (write === swap) {
    swap('first');
    fs.symlinkSync(path.join(directory, 'current', 'file'), file);
  } else fs.writeFileSync(file, 'first');
  start();
  for (const [count, content] of ['second', 'third'].entries()) {
    write(content);
    await until(() => used.length > count);
  }
  expect(used.at(-1)).toBe('third');
  expect(told).toEqual([]);
});

test('what cannot be used is told once, and again when it was mended in between', async () => {
  const read = async (): Promise<void> => {
    const enough = reads + 2; // of two the later one has begun since
    await until(() => reads >= enough);
  };
  fs.writeFileSync(file, 'first');
  start();
  rename('bad');
  await until(() => told.length === 1);
  await read();
  expect(told).toHaveLength(1);
  rename('first');
  await read();
  rename('bad');
  await until(() => told.length === 2);
  expect(used).toEqual([]);
});

test('what is used later is used although a report of a fault failed', async () => {
  fs.writeFileSync(file, 'first');
  stop = follow(
    {
      clock,
      pollMs: 1,
      read: () => readFile(file, 'utf8'),
      same: (one, other) => one === other,
      use: (next) => {
        if (next.includes('bad')) throw new Error(`${next} is not usable`);
        used.push(next);
      },
      failed: (error) => {
        told.push(String(error));
        throw new Error('the log is full');
      },
    },
    'first',
  );
  rename('bad');
  await until(() => told.length > 1);
  rename('second');
  await until(() => used.length === 1);
});

test('a file that is away is told, and is followed when it is back', async () => {
  fs.writeFileSync(file, 'first');
  start();
  fs.rmSync(file);
  await until(() => told.length === 1);
  expect(told[0]).toContain('ENOENT');
  rename('second');
  await until(() => used.length === 1);
});
