/** Programs of clients in other languages, which `node packages/toolchain/clients.mjs` builds. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { kubeconfig } from '../kubeconfig.ts';
import { endProcess, isRunning } from '@cluster-apiserver/testkit/child-process';

const builtAt = (...names: readonly string[]): string =>
  path.resolve(import.meta.dirname, '../../../../.cache/clients', ...names);

export const goProgram = builtAt('clientgo');
export const operatorProgram = builtAt('operator');
export const certManagerProgram = builtAt('certmanager');
export const kroProgram = builtAt('kro');
export const k9sProgram = builtAt('k9s');
export const rustProgram = builtAt('kubers-target', 'debug', 'kubers');
/** With the package `kubernetes`. */
export const python = builtAt('python', 'bin', 'python');
export const pythonScript = path.resolve(import.meta.dirname, '../../python/client.py');

export const hasGo = fs.existsSync(goProgram);
export const hasK9s = fs.existsSync(k9sProgram);
export const hasRust = fs.existsSync(rustProgram);
/** An environment may exist in which the package could not be installed. */
export const hasPython = fs.globSync(builtAt('python', 'lib', 'python*', 'site-packages', 'kubernetes')).length > 0;
export const noClients = 'node packages/toolchain/clients.mjs has not built it';

/** Where a client finds the server, and the token of an administrator. */
export interface ClientTarget {
  readonly url: string;
  readonly ca: Buffer;
  readonly token: string;
}

export interface ClientProgram {
  /** Its output so far. */
  readonly lines: readonly string[];
  readonly errors: string;
  readonly hasEnded: boolean;
  /** Writes a line to its input, and resolves with the next line of its output. */
  ask(line: string): Promise<string>;
  /** Resolves when it has ended. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts a program; `KUBECONFIG` among the arguments stands for a kubeconfig of the target. */
export function startProgram(program: string, args: readonly string[], target: ClientTarget): ClientProgram {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'client-'));
  const file = path.join(home, 'kubeconfig');
  fs.writeFileSync(file, kubeconfigOf(target));
  const child: ChildProcess = spawn(
    program,
    args.map((arg) => (arg === 'KUBECONFIG' ? file : arg)),
  );
  const exit = once(child, 'exit').finally(() => fs.rmSync(home, { recursive: true, force: true }));
  const lines: string[] = [];
  let errors = '';
  let answer: PromiseWithResolvers<string> | undefined;
  if (!child.stdin || !child.stdout || !child.stderr) throw new Error('all streams are pipes');
  const { stdin } = child;
  stdin.on('error', () => {}); // it has ended, and its exit fails the next question
  child.stderr.on('data', (text) => (errors += text));
  readline.createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    answer?.resolve(line);
  });
  void exit.then(() => answer?.reject(new Error(`the program has ended: ${errors}`)));
  return {
    lines,
    get errors() {
      return errors;
    },
    get hasEnded() {
      return !isRunning(child);
    },
    ask: async (line) => {
      if (!isRunning(child)) throw new Error(`the program has ended: ${errors}`);
      answer = Promise.withResolvers();
      stdin.write(`${line}\n`);
      return answer.promise;
    },
    end: async (signal = 'SIGTERM') => {
      stdin.end(); // some read it before they heed the signal
      await Promise.all([endProcess(child, signal), exit]);
    },
  };
}

export const kubeconfigOf = ({ url, ca, token }: ClientTarget): string =>
  kubeconfig({ server: url, 'certificate-authority-data': ca.toString('base64') }, { token });
