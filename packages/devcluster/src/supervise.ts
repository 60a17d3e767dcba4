import { type Backoff, backoff, type Clock, type Random, sleep, errorMessage } from '@cluster-apiserver/base';
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
export class Supervisor {
  readonly #program: Program;
  readonly #context: SupervisorContext;
  readonly #changed: () => void;
  readonly #pauses: Backoff;
  readonly #stopping = new AbortController();
  #isProven = false;
  #endPause = (): void => {};
  #startedMs: number;
  #child: ChildProcess;
  /** Resolves with a description of how the current process ended. */
  #end: Promise<string>;
  readonly #life: Promise<void>;

  constructor(program: Program, context: SupervisorContext, changed: () => void) {
    this.#program = program;
    this.#context = context;
    this.#changed = changed;
    this.#pauses = backoff(restart, context.random);
    this.#startedMs = context.clock.monotonicMs();
    this.#child = start(program);
    this.#end = waitForExit(this.#child);
    this.#life = this.#restartUntilStopped();
  }

  /** Of the current process, or of the previous one until the next one starts. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Starts the program at once if it has ended, since what made it fail may be corrected. */
  startNow(): void {
    this.#pauses.reset();
    this.#endPause();
  }

  /** Polls `check` until it returns a value. Throws if the process ends, or takes too long. */
  async ready<T>(check: () => Promise<T | undefined>): Promise<T> {
    const { clock } = this.#context;
    const { name } = this.#program;
    const deadlineMs = clock.monotonicMs() + startTimeoutMs;
    for (;;) {
      const answer = await check();
      if (answer !== undefined) {
        this.#isProven = true;
        return answer;
      }
      const how = await Promise.race([this.#end, sleep(clock, readyPollMs)]);
      if (how !== undefined) throw new StartError(`${name} ${how} while starting.\n${readLogTail(this.#program)}`);
      if (clock.monotonicMs() > deadlineMs)
        throw new StartError(`${name} was not ready after ${startTimeoutMs / 1000} s.\n${readLogTail(this.#program)}`);
    }
  }

  /** Sends SIGTERM without waiting. The process is not restarted. */
  requestStop(): void {
    this.#stopping.abort();
    this.#child.kill('SIGTERM');
  }

  /** Resolves when the process has ended; kills it after the grace period. */
  async stop(graceMs: number): Promise<void> {
    const { clock, print } = this.#context;
    this.requestStop();
    const cancel = clock.after(graceMs, () => {
      print(`${this.#program.name} (pid ${this.#child.pid}) did not stop within ${graceMs / 1000} s and is killed`);
      this.#child.kill('SIGKILL');
    });
    await this.#life;
    cancel();
  }

  async #restartUntilStopped(): Promise<void> {
    const { clock, print } = this.#context;
    const { name, logFile } = this.#program;
    const { signal } = this.#stopping;
    for (;;) {
      const how = await this.#end;
      if (signal.aborted || !this.#isProven) return;
      if (clock.monotonicMs() - this.#startedMs > provenMs) this.#pauses.reset();
      const pauseMs = this.#pauses.nextMs();
      print(
        `${name} (pid ${this.#child.pid}) ${how}; starting it again in ${(pauseMs / 1000).toFixed(1)} s, see ${logFile}`,
      );
      const asked = new Promise<void>((resolve) => (this.#endPause = resolve));
      await Promise.race([sleep(clock, pauseMs, signal).catch(() => {}), asked]); // the next line handles the abort
      if (signal.aborted) return;
      this.#startedMs = clock.monotonicMs();
      this.#child = start(this.#program);
      this.#end = waitForExit(this.#child);
      this.#changed();
    }
  }
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
    return signal ? `was killed by ${signal}` : code === 0 ? 'stopped' : `ended with code ${code}`;
  } catch (error) {
    return `could not be run: ${errorMessage(error)}`;
  }
}

const readLogTail = ({ logFile }: Program): string =>
  [...fs.readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lastWordsLines), `(${logFile})`]
    .map((line) => `  ${line}`)
    .join('\n');
