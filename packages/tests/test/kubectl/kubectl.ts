/** The machine's kubectl, against the whole server on a real etcd. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import type { Credentials } from '@cluster-apiserver/testkit/api-client';
import { serveKinds } from '../serve-kinds.ts';

export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

/** A group of tests that is skipped without kubectl. `npm test` prints the number of skipped tests. */
export function describeWithKubectl(name: string, tests: () => void): void {
  describeIf(hasKubectl, name, 'there is no kubectl on the PATH', tests);
}

export interface Kubectl {
  /** Runs a command: a string that is split at spaces, or a list of arguments. */
  run(command: Command, input?: string): Promise<CommandResult>;
  /** Runs a command that must succeed, and returns its standard output. */
  stdoutOf(command: Command, input?: string): Promise<string>;
  /** Starts a command that runs until stopped. */
  start(command: Command): Running;
  /** Runs `edit` with a sed script as the editor. */
  edit(command: Command, script: string): Promise<CommandResult>;
  close(): Promise<void>;
}

export type Command = string | readonly string[];

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export interface Running {
  /** Waits for output that matches. */
  waitForOutput(pattern: RegExp): Promise<string>;
  readonly output: string;
  stop(): Promise<void>;
}

const sawLimitMs = 20_000;

/** Runs in the namespace `team` of a server of its own. */
export async function openKubectl(options: Parameters<typeof serveKinds>[1] = {}): Promise<Kubectl> {
  const cleanup = new CleanupStack();
  const server = await serveKinds(kinds, options);
  cleanup.defer('server', () => server.close());
  return connectKubectl(
    { url: server.url, ca: server.certificate, token: server.token },
    ['--namespace=team'],
    cleanup,
  );
}

/** `cleanup` is what `close` closes. */
export function connectKubectl(
  { url, ca, token }: Credentials & { readonly url: string },
  flags: readonly string[] = [],
  cleanup = new CleanupStack(),
): Kubectl {
  // A separate home isolates kubectl from the user's configuration and cache.
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'kubectl-'));
  cleanup.defer('home', () => fs.rmSync(home, { recursive: true, force: true }));
  const authority = path.join(home, 'ca.crt');
  fs.writeFileSync(authority, ca);
  const access = [`--server=${url}`, `--certificate-authority=${authority}`, `--token=${token}`, ...flags];

  const spawnKubectl = (command: Command, environment: Readonly<Record<string, string>> = {}) =>
    spawn('kubectl', [...access, ...wordsOf(command)], {
      env: { PATH: process.env.PATH, HOME: home, ...environment },
    });
  const end = async (child: ReturnType<typeof spawnKubectl>, input: string): Promise<CommandResult> => {
    child.stdin.end(input);
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code: code as number, out, error };
  };
  const run: Kubectl['run'] = (command, input = '') => end(spawnKubectl(command), input);
  return {
    run,
    stdoutOf: async (command, input) => {
      const { code, out, error } = await run(command, input);
      if (code !== 0) throw new Error(`kubectl ${wordsOf(command).join(' ')}: ${error}`);
      return out;
    },
    start: (command) => {
      const child = spawnKubectl(command);
      cleanup.defer('kubectl', () => endProcess(child, 'SIGINT'));
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (piece: Buffer) => (output += piece.toString()));
      return {
        waitForOutput: (pattern) => until(`${pattern}`, () => (pattern.test(output) ? output : undefined), sawLimitMs),
        get output() {
          return output;
        },
        stop: () => endProcess(child, 'SIGINT'),
      };
    },
    edit: (command, script) => end(spawnKubectl(command, { KUBE_EDITOR: `sed -i ${script}` }), ''),
    close: () => cleanup.close(),
  };
}

const wordsOf = (command: Command): readonly string[] => (typeof command === 'string' ? command.split(' ') : command);

/** The words of each row of a table. */
export const rows = (out: string): string[][] =>
  out
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));

/** A service account manifest. */
export const account = (name: string, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    ...more,
    metadata: { name, ...(more.metadata as object) },
  });

/** An event about a service account. */
export const event = (name: string, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { apiVersion: 'v1', kind: 'ServiceAccount', name: 'robot', namespace: 'team' },
    reason: 'Woke',
    message: name,
    type: 'Normal',
    ...more,
  });
