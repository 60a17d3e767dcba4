import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

/** Sends the signal to a process that runs, and resolves when it has ended. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (!isRunning(child)) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
