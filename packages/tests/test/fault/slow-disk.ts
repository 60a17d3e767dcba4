import { type ChildProcess, spawn } from 'node:child_process';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { endProcess } from '@cluster-apiserver/testkit/child-process';

/** A process whose fsync calls are slowed down. */
export interface SlowDisk {
  /** How it is slowed down. */
  readonly by: 'strace' | 'pulses';
  stop(): Promise<void>;
}

/**
 * Without permission to trace, the process is suspended repeatedly for the same time, which delays its responses
 * similarly.
 */
export async function slowDisk(pid: number, delayMs: number): Promise<SlowDisk> {
  const calls = 'fsync,fdatasync';
  const injected = `inject=${calls}:delay_enter=${delayMs * 1_000}`;
  const tracer = spawn('strace', ['-f', '-p', `${pid}`, '-e', `trace=${calls}`, '-e', injected, '-o', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (await isAttached(tracer)) {
    return { by: 'strace', stop: () => endProcess(tracer) };
  }
  const stopping = new AbortController();
  const pulsing = pulse(pid, delayMs, stopping.signal);
  return {
    by: 'pulses',
    stop: async () => {
      stopping.abort();
      await pulsing;
    },
  };
}

function isAttached(tracer: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    tracer.once('error', () => resolve(false)); // strace is not installed
    tracer.once('exit', () => resolve(false));
    tracer.stderr?.on('data', (text) => String(text).includes(' attached') && resolve(true));
  });
}

async function pulse(pid: number, delayMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    process.kill(pid, 'SIGSTOP');
    await sleep(clock, delayMs, signal).catch(() => {}); // stopped: continue at once
    process.kill(pid, 'SIGCONT');
    await sleep(clock, delayMs / 2, signal).catch(() => {});
  }
}
