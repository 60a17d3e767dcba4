import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';

/** Where each fsync of a process takes so much longer. */
export interface SlowDisk {
  /** How it was made slow. */
  readonly by: 'strace' | 'pulses';
  stop(): Promise<void>;
}

/** Where nobody may trace, the process stands still for as long again and again: what it is asked waits alike. */
export async function slowDisk(pid: number, delayMs: number): Promise<SlowDisk> {
  const calls = 'fsync,fdatasync';
  const injected = `inject=${calls}:delay_enter=${delayMs * 1_000}`;
  const tracer = spawn('strace', ['-f', '-p', `${pid}`, '-e', `trace=${calls}`, '-e', injected, '-o', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (await isAttached(tracer)) {
    return {
      by: 'strace',
      stop: async () => {
        tracer.kill('SIGTERM');
        await once(tracer, 'exit');
      },
    };
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
    tracer.once('error', () => resolve(false)); // there is no strace
    tracer.once('exit', () => resolve(false));
    tracer.stderr?.on('data', (text) => String(text).includes(' attached') && resolve(true));
  });
}

async function pulse(pid: number, delayMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    process.kill(pid, 'SIGSTOP');
    await sleep(clock, delayMs, signal).catch(() => {}); // stopped: it goes on at once
    process.kill(pid, 'SIGCONT');
    await sleep(clock, delayMs / 2, signal).catch(() => {});
  }
}
