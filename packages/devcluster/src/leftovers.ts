import { type Clock, sleep } from '@cluster-apiserver/base';
import type { Home } from './home.ts';
import { forgetChildren, readChildren, type Running } from './pids.ts';
import { commandLine, signal } from './processes.ts';

/** Time for a replica to finish its requests, before it is killed. */
const graceMs = 15_000;
const pollMs = 50;

/**
 * Ends processes left behind by a killed launcher. Process ids can be reused: only processes with the cluster directory in
 * their command line are ended.
 */
export async function endLeftovers(home: Home, self: number, clock: Clock): Promise<number> {
  const children = readChildren(home);
  if (!children) return 0;
  let ended = 0;
  for (const group of [children.front, children.replicas, children.etcd]) {
    const ours = group.filter(({ pid }) => pid !== self && runsIn(home, pid));
    ended += ours.length;
    await Promise.all(ours.map((running) => end(running, home, clock)));
  }
  forgetChildren(home);
  return ended;
}

async function end({ pid }: Running, home: Home, clock: Clock): Promise<void> {
  const deadline = clock.monotonicMs() + graceMs;
  signal(pid, 'SIGTERM');
  while (runsIn(home, pid)) {
    if (clock.monotonicMs() > deadline) signal(pid, 'SIGKILL');
    await sleep(clock, pollMs);
  }
}

const runsIn = (home: Home, pid: number): boolean => commandLine(pid)?.includes(home.directory) ?? false;
