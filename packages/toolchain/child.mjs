import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { root } from './project.mjs';

/**
 * Runs a program in the checkout with this terminal, forwards signals to it, and returns its exit code. With `print`, its
 * output goes there instead.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions & { print?: (text: string) => void }} [options]
 */
export async function run(command, args, { print, ...options } = {}) {
  const child = spawn(command, args, { cwd: root, stdio: print ? ['ignore', 'pipe', 'pipe'] : 'inherit', ...options });
  if (print) for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', print);
  const release = forwardSignalsTo(child);
  try {
    const [code, signal] = await once(child, 'close');
    return code ?? 128 + os.constants.signals[signal];
  } finally {
    release();
  }
}

let interrupted = false;

/** Whether a termination signal has arrived. Programs with several steps check it before each step. */
export const wasInterrupted = () => interrupted;

/** Until released, a signal stops the child; this process then decides how to continue. */
export function forwardSignalsTo(child) {
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => ({
    signal,
    handle: () => {
      interrupted = true;
      child.kill(signal);
    },
  }));
  for (const { signal, handle } of handlers) process.on(signal, handle);
  return () => {
    for (const { signal, handle } of handlers) process.off(signal, handle);
  };
}

/** Returns a program's standard output, or undefined if it cannot be run or fails. */
export function outputOf(command, args, options = {}) {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    ...options,
  });
  return status === 0 ? stdout : undefined;
}

/** Runs a setup step whose output the caller shows only on failure. */
export function step(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  return { ok: status === 0, output: error ? error.message : `${stdout}${stderr}`.trim() };
}
