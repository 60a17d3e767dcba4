// Runs programs on a chosen core, and reads what processes used.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';

/** The measured servers have a core of their own. */
export const serverCore = '0';
/** The load, etcd and the baselines' peers share the other. */
export const loadCore = '1';

/** Runs a program on a core, and returns its output. Without a core, the kernel chooses. */
export function runOn(core, program, args) {
  const command = onCore(core, program, args);
  return execFileSync(command[0], command.slice(1), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

export const onCore = (core, program, args) => (core ? ['taskset', '-c', core, program, ...args] : [program, ...args]);

export function pin(core, pids) {
  for (const pid of pids) execFileSync('taskset', ['-acp', core, String(pid)], { stdio: ['ignore', 'pipe', 'pipe'] });
}

export const hasProgram = (name) => {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

export const residentMiB = (pids) =>
  pids.reduce((sum, pid) => {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }, 0);
