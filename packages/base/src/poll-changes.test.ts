import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock as clock } from './clock.ts';
import { pollChanges } from './poll-changes.ts';

let directory: string;
let file: string;
let applied: string[];
let reported: string[];
let reads: number;
let stop: () => void;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'poll-changes-'));
  file = path.join(directory, 'file');
  applied = [];
  reported = [];
  reads = 0;
});
afterEach(() => {
  stop();
  fs.rmSync(directory, { recursive: true });
});

/** A content that contains `bad` is invalid. */
function start(): void {
  stop = pollChanges(
    {
      clock,
      pollMs: 1,
      read: () => readFile(file, 'utf8').finally(() => reads++),
      isEqual: (one, other) => one === other,
      apply: (next) => {
        if (next.includes('bad')) throw new Error(`${next} is invalid`);
        applied.push(next);
      },
      onError: (error) => reported.push(String(error)),
    },
    fs.readFileSync(file, 'utf8'),
  );
}

async function until(fact: () => boolean): Promise<void> {
  for (let rounds = 0; !fact(); rounds++) {
    if (rounds > 5_000) throw new Error(`timed out; applied ${applied.join()}, reported ${reported.join()}`);
    await new Promise<void>((resolve) => void clock.after(1, resolve));
  }
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
    fs.symlinkSync(path.join(directory, 'current', 'file'), file);
  } else fs.writeFileSync(file, 'first');
  start();
  for (const [count, content] of ['second', 'third'].entries()) {
    write(content);
    await until(() => applied.length > count);
  }
  expect(applied.at(-1)).toBe('third');
  expect(reported).toEqual([]);
});

test('an invalid content is reported once, and again if it was valid in between', async () => {
  const read = async (): Promise<void> => {
    const enough = reads + 2; // of two the later one has begun since
    await until(() => reads >= enough);
  };
  fs.writeFileSync(file, 'first');
  start();
  rename('bad');
  await until(() => reported.length === 1);
  await read();
  expect(reported).toHaveLength(1);
  rename('first');
  await read();
  rename('bad');
  await until(() => reported.length === 2);
  // The previous content is applied again, which ends the error.
  expect(applied).toEqual(['first']);
});

test('a later content is applied although reporting an error failed', async () => {
  fs.writeFileSync(file, 'first');
  stop = pollChanges(
    {
      clock,
      pollMs: 1,
      read: () => readFile(file, 'utf8'),
      isEqual: (one, other) => one === other,
      apply: (next) => {
        if (next.includes('bad')) throw new Error(`${next} is invalid`);
        applied.push(next);
      },
      onError: (error) => {
        reported.push(String(error));
        throw new Error('the log is full');
      },
    },
    'first',
  );
  rename('bad');
  await until(() => reported.length > 1);
  rename('second');
  await until(() => applied.length === 1);
});

test('a missing file that is back as it was is applied once', async () => {
  fs.writeFileSync(file, 'first');
  start();
  fs.rmSync(file);
  await until(() => reported.length === 1);
  rename('first');
  await until(() => applied.length === 1);
  const enough = reads + 3;
  await until(() => reads >= enough);
  expect(applied).toEqual(['first']);
});

test('a missing file is reported, and polled until it is back', async () => {
  fs.writeFileSync(file, 'first');
  start();
  fs.rmSync(file);
  await until(() => reported.length === 1);
  expect(reported[0]).toContain('ENOENT');
  rename('second');
  await until(() => applied.length === 1);
});
