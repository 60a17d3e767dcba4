import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';

/** A program that is to run as long as the cluster does. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** With a channel the program notices when the launcher is gone. */
  readonly channel?: boolean;
}

export interface SupervisorContext {
  readonly clock: Clock;
  readonly random: Random;
  /** One line for whoever watches the launcher. */
  readonly print: (line: string) => void;
}

export interface Supervised {
  /** The process of now, or the last one while the next is waited for. */
  readonly pid: number;
  /** Asks until there is an answer and gives it. Throws when the process ends before, or takes too long. */
  ready<T>(check: () => Promise<T | undefined>): Promise<T>;
  /** Asks it to stop, without waiting. It is not started again. */
  requestStop(): void;
  /** Resolves when it is gone; after the grace it is killed. */
  stop(graceMs: number): Promise<void>;
}

export class StartError extends Error {
  override readonly name = 'StartError';
}

/** A crash is felt for a quarter of a second at first, and a crash loop does not keep a core busy. */
const restart = { firstMs: 250, maxMs: 10_000 };
/** Whoever lived this long did not die of how it was started, but was killed or told to restart: the pause is short again. */
const provenMs = 5_000;
/** Slow machines need several seconds to start Node; beyond this something is wrong. */
const startTimeoutMs = 60_000;
const readyPollMs = 50;
const lastWordsLines = 8;

/** Starts a program and, once it was ready, starts it again whenever it ends. `changed` is called for each new process. */
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
      await sleep(clock, pauseMs, stopping.signal).catch(() => {}); // stopped while waiting: seen on the next line
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
      // A group of its own: Ctrl-C in a terminal reaches the launcher alone, which then stops everybody in order.
      detached: true,
    });
  } finally {
    fs.closeSync(log); // the child has its own
  }
}

/** Says how it ended, when it does. */
async function waitForExit(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    return signal ? `was killed by ${signal}` : `ended with code ${code}`;
  } catch (error) {
    return `could not be run: ${(error as Error).message}`; // a child reports that it cannot be spawned by an Error
  }
}

const readLogTail = ({ logFile }: Program): string =>
  [...fs.readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lastWordsLines), `(${logFile})`]
    .map((line) => `  ${line}`)
    .join('\n');
