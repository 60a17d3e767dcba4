import { backoff, type Clock, type Random, sleep, errorMessage } from '@cluster-apiserver/base';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';

/** A program that runs as long as the cluster. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** With an IPC channel the program detects the end of the launcher. */
  readonly channel?: boolean;
}

export interface SupervisorContext {
  readonly clock: Clock;
  readonly random: Random;
  /** Prints a line to the terminal. */
  readonly print: (line: string) => void;
}

export interface Supervised {
  /** The current process, or the previous one until the next one starts. */
  readonly pid: number;
  /** Polls `check` until it returns a value. Throws if the process ends, or takes too long. */
  ready<T>(check: () => Promise<T | undefined>): Promise<T>;
  /** Sends SIGTERM without waiting. The process is not restarted. */
  requestStop(): void;
  /** Resolves when the process has ended; kills it after the grace period. */
  stop(graceMs: number): Promise<void>;
}

export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Backoff of restarts: short after a first crash, and long enough that a crash loop does not occupy a core. */
const restart = { firstMs: 250, maxMs: 10_000 };
/** After this uptime a crash is not considered a failed start, and the backoff is reset. */
const provenMs = 5_000;
/** Start timeout. Slow machines require several seconds to start Node. */
const startTimeoutMs = 60_000;
const readyPollMs = 50;
const lastWordsLines = 8;

/** Starts a program, and restarts it whenever it ends after it was ready. Calls `changed` for each new process. */
export function supervise(
  program: Program,
  { clock, random, print }: SupervisorContext,
  changed: () => void,
): Supervised {
  const pauses = backoff(restart, random);
  const stopping = new AbortController();
  let proven = false;
  let started = clock.monotonicMs();
  let child = start(program);
  let end = waitForExit(child);

  const life = (async () => {
    for (;;) {
      const how = await end;
      if (stopping.signal.aborted || !proven) return;
      if (clock.monotonicMs() - started > provenMs) pauses.reset();
      const pauseMs = pauses.nextMs();
      print(
        `${program.name} (pid ${child.pid}) ${how}; starting it again in ${(pauseMs / 1000).toFixed(1)} s, see ${program.logFile}`,
      );
      await sleep(clock, pauseMs, stopping.signal).catch(() => {}); // the next line handles the abort
      if (stopping.signal.aborted) return;
      started = clock.monotonicMs();
      child = start(program);
      end = waitForExit(child);
      changed();
    }
  })();

  const requestStop = (): void => {
    stopping.abort();
    child.kill('SIGTERM');
  };
  return {
    get pid() {
      return child.pid ?? 0;
    },
    requestStop,
    ready: async (check) => {
      const deadline = clock.monotonicMs() + startTimeoutMs;
      for (;;) {
        const answer = await check();
        if (answer !== undefined) {
          proven = true;
          return answer;
        }
        const how = await Promise.race([end, sleep(clock, readyPollMs)]);
        if (how !== undefined) throw new StartError(`${program.name} ${how} while starting.\n${readLogTail(program)}`);
        if (clock.monotonicMs() > deadline) {
          throw new StartError(
            `${program.name} was not ready after ${startTimeoutMs / 1000} s.\n${readLogTail(program)}`,
          );
        }
      }
    },
    stop: async (graceMs) => {
      requestStop();
      const killed = clock.after(graceMs, () => {
        print(`${program.name} (pid ${child.pid}) did not stop within ${graceMs / 1000} s and is killed`);
        child.kill('SIGKILL');
      });
      await life;
      killed();
    },
  };
}

function start({ command, args, env, logFile, channel }: Program): ChildProcess {
  const log = fs.openSync(logFile, 'a');
  try {
    return spawn(command, args, {
      env,
      stdio: channel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      // A separate process group: Ctrl-C reaches only the launcher, which stops all processes in order.
      detached: true,
    });
  } finally {
    fs.closeSync(log); // the child has its own descriptor
  }
}

/** Resolves with a description of how the process ended. */
async function waitForExit(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    return signal ? `was killed by ${signal}` : `ended with code ${code}`;
  } catch (error) {
    return `could not be run: ${errorMessage(error)}`;
  }
}

const readLogTail = ({ logFile }: Program): string =>
  [...fs.readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lastWordsLines), `(${logFile})`]
    .map((line) => `  ${line}`)
    .join('\n');
