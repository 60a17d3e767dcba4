import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** How a running process was called, or undefined when there is none with this id. */
export function commandLine(pid: number): string | undefined {
  try {
    if (fs.existsSync('/proc/self/cmdline')) {
      // Empty for a process that has ended and was not buried yet.
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
    }
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined; // no such process is what both mean by failing
  }
}

/** Sends a signal to a process that may have ended meanwhile. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // kill fails with a code
  }
}
