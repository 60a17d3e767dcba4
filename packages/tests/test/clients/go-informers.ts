/** Shared informers of client-go, typed and dynamic, in the program that packages/toolchain/clientgo.mjs builds. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const program = path.resolve(import.meta.dirname, '../../../../.cache/clientgo/clientgo');

export const hasGoInformers = fs.existsSync(program);

export interface GoInformers {
  /** What each informer has in its cache: resourceVersions by `namespace/name`. Undefined before its first state. */
  readonly caches: Readonly<Record<'typed' | 'dynamic', Readonly<Record<string, string>>>> | undefined;
  stop(): Promise<void>;
}

export function startGoInformers(kubeconfig: string): GoInformers {
  const child: ChildProcess = spawn(program, [kubeconfig], { stdio: ['ignore', 'pipe', 'ignore'] });
  let caches: GoInformers['caches'];
  if (child.stdout)
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      caches = JSON.parse(line) as NonNullable<GoInformers['caches']>;
    });
  return {
    get caches() {
      return caches;
    },
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}
