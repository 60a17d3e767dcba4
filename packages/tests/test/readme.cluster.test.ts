import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from './cluster.ts';
import { until } from '../../base/test/until.ts';

/** What the README shows with curl is what a newcomer tries first: it is run here, line by line, in one shell. */
const readme = fs.readFileSync(path.resolve(import.meta.dirname, '..', '..', '..', 'README.md'), 'utf8');
const slowTestMs = 120_000;
const answerMs = 20_000;

interface Step {
  readonly command: string;
  readonly shown: readonly string[];
}

function stepsBelow(heading: string): Step[] {
  const block = /```console\n([^]*?)```/.exec(readme.slice(readme.indexOf(heading)))?.[1] ?? '';
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...shown] = step.split('\n').filter((line) => line !== '');
      return { command, shown };
    });
}

/** The same but for what differs from run to run; … stands for anything. */
function pattern(shown: readonly string[]): RegExp {
  const escaped = shown.join('\n').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const loose = escaped
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '[0-9a-f-]{36}')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '[-0-9T:]+Z')
    .replace(/"resourceVersion": "\d+"/g, '"resourceVersion": "(?<revision>\\d+)"')
    .replace(/ … /g, '.*');
  return new RegExp(loose);
}

let cluster: Cluster;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1 });
  fs.mkdirSync(path.join(directory, '.cluster'));
  fs.writeFileSync(path.join(directory, '.cluster', 'ca.crt'), cluster.ca);
  fs.writeFileSync(path.join(directory, '.cluster', 'admin.token'), cluster.token);
}, slowTestMs);
afterAll(async () => {
  fs.rmSync(directory, { recursive: true, force: true });
  await cluster.stop();
}, slowTestMs);

test(
  'what the README shows with curl is what one gets',
  async () => {
    const steps = stepsBelow('## Two minutes with curl');
    expect(steps.length).toBeGreaterThan(5);
    const shell = spawn('bash', ['-s'], { cwd: directory, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let output = '';
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (text) => (output += text));
    try {
      let revision = '';
      for (const [n, { command, shown }] of steps.entries()) {
        const from = output.length;
        const here = command
          // On a terminal curl shows each line at once.
          .replace('curl -s', 'curl -sN')
          .replaceAll('https://127.0.0.1:6443', cluster.pids().front.url)
          .replace(/resourceVersion=\d+/, `resourceVersion=${revision}`);
        shell.stdin.write(`${here}\necho "step ${n} done"\n`);
        // A comparison at the end tells what came instead.
        await until('the end of a step', () => output.includes(`step ${n} done`) || undefined, answerMs);
        const wanted = pattern(shown);
        await until(command, () => wanted.test(output.slice(from)) || undefined, answerMs).catch(() => {});
        expect(output.slice(from)).toMatch(wanted);
        revision = wanted.exec(output.slice(from))?.groups?.revision ?? revision;
      }
    } finally {
      // The watch in the background, too.
      if (shell.pid) process.kill(-shell.pid, 'SIGKILL');
    }
  },
  slowTestMs,
);
