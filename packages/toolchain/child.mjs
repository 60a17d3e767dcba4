import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { root } from './project.mjs';

/** Runs a program in the checkout with our terminal, hands signals on to it, and gives its exit code. */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
  const release = handSignalsTo(child);
  try {
    const [code, signal] = await once(child, 'exit');
    return code ?? 128 + os.constants.signals[signal];
  } finally {
    release();
  }
}

let interrupted = false;

/** Whether somebody wants us to end; a program with several steps asks before the next one. */
export const wasInterrupted = () => interrupted;

/** Until it is released, a signal meant for us stops the child and leaves it to us what comes next. */
export function handSignalsTo(child) {
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

/** What a program prints, or undefined when it cannot be run or fails. */
export function outputOf(command, args, options = {}) {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    ...options,
  });
  return status === 0 ? stdout : undefined;
}

/** Runs a quiet step of the set-up. Its output is shown only when it fails. */
export function step(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  return { ok: status === 0, output: error ? error.message : `${stdout}${stderr}`.trim() };
}
