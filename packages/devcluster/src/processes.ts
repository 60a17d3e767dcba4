import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { errorCode } from '@cluster-apiserver/base';

/** The command line of a running process; undefined if there is none with this id. */
export function commandLine(pid: number): string | undefined {
  try {
    if (fs.existsSync('/proc/self/cmdline')) {
      // Empty for a zombie process.
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
    }
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined; // both fail only if there is no such process
  }
}

/** Sends a signal; ignores that the process may have ended already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
