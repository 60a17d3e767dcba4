import { afterAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { until } from '@cluster-apiserver/testkit/until';
import { Supervisor } from './supervise.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'supervise-'));
afterAll(() => fs.rmSync(directory, { recursive: true }));

test('a program that has ended is started after a pause, or at once when asked', async () => {
  const [clock, printed] = [fakeClock(), [] as string[]];
  let changes = 0;
  const supervisor = new Supervisor(
    {
      name: 'program',
      command: process.execPath,
      args: ['--eval', 'setInterval(() => {}, 1e6)'],
      env: {},
      logFile: path.join(directory, 'program.log'),
    },
    { clock, random: seededRandom(1), print: (line) => printed.push(line) },
    () => (changes += 1),
  );
  await supervisor.ready(async () => true);
  const end = async (): Promise<number> => {
    const { pid } = supervisor;
    process.kill(pid, 'SIGKILL');
    await until('the pause', () => printed.splice(0).length > 0 || undefined);
    expect(supervisor.pid).toBe(pid);
    return pid;
  };

  const first = await end();
  const pauseMaxMs = 10_000;
  clock.advance(pauseMaxMs);
  await until('another process', () => changes === 1 || undefined);
  expect(supervisor.pid).not.toBe(first);

  // One that runs is left alone.
  supervisor.startNow();
  const second = await end();
  supervisor.startNow();
  await until('another process', () => changes === 2 || undefined);
  expect(supervisor.pid).not.toBe(second);
  await supervisor.stop(pauseMaxMs);
});
