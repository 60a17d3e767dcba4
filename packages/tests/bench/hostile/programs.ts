/** Starts the programs of the bench and receives their messages. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';

/** The server has its own core if processes are pinned; the store, the load and the well-behaved client share the other. */
export const cores = { server: '0', load: '1' } as const;

/**
 * `served` is the priority of the server and its store. `realTime` is for the well-behaved client: it uses little, and
 * the time that it waits for a core would count as the server's.
 */
export type Priority = 'normal' | 'served' | 'realTime';
export const servedNice = -10;

/** Only root may raise a priority. Without it the client competes with the load for the processor. */
const mayRaisePriority = process.getuid?.() === 0;
const priorityCommands = {
  normal: [],
  served: ['nice', '-n', `${servedNice}`],
  realTime: ['chrt', '--fifo', '1'],
} as const satisfies Record<Priority, readonly string[]>;
/**
 * V8 sweeps in helper threads. Those of a real-time process wait for its main thread, which asks again and again whether
 * they have ended: the process would take its core for itself.
 */
const nodeOptions = {
  normal: [],
  served: [],
  realTime: ['--single-threaded-gc'],
} as const satisfies Record<Priority, readonly string[]>;

export interface Programs {
  /** Starts a program of this directory. */
  start(name: string, priority: Priority, args: readonly string[], core?: string): ChildProcess;
}

export const createPrograms = (isPinned: boolean): Programs => ({
  start: (name, priority, args, core = cores.load) => {
    const [command = '', ...rest] = [
      ...(isPinned ? ['taskset', '-c', core] : []),
      ...(mayRaisePriority ? priorityCommands[priority] : []),
      ...[process.execPath, ...nodeOptions[priority], '--conditions=source', '--disable-warning=ExperimentalWarning'],
      ...[path.join(import.meta.dirname, `${name}.ts`), ...args],
    ];
    // Each has a session of its own: Linux shares the processor between sessions first.
    const child = spawn(command, rest, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    if (priority === 'served') raiseSession(child.pid);
    return child;
  },
});

/** Priorities of processes count only inside a session, and each session has one of its own. */
export function raiseSession(pid: number | undefined): void {
  if (!mayRaisePriority || pid === undefined) return;
  const file = `/proc/${pid}/autogroup`;
  if (fs.existsSync(file)) fs.writeFileSync(file, `${servedNice}`);
}

/** The next message of its kind, an announcement or a report. Undefined if the process ends or the time is up. */
export async function nextMessage<T>(
  child: ChildProcess,
  kind: 'string' | 'number' | 'object',
  limitMs: number,
): Promise<T | undefined> {
  const cancelled = new AbortController();
  const { signal } = cancelled;
  const next = async (): Promise<T> => {
    for (;;) {
      const [value] = (await once(child, 'message', { signal })) as [unknown];
      // Do not take a late announcement for a report.
      if (typeof value === kind) return value as T;
    }
  };
  try {
    return await Promise.race([
      next(),
      once(child, 'exit', { signal }).then(() => undefined),
      sleep(clock, limitMs, signal).then(() => undefined),
    ]);
  } finally {
    cancelled.abort();
  }
}
