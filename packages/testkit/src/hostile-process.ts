/**
 * A hostile backend in a process of its own: there it sends as fast as its client reads, and shares no event loop with it.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { StartError } from './repeatable-errors.ts';
import type { Command, Goodness } from './run-hostile-backend.ts';

export interface HostileProcess {
  /** Of its HTTPS server, such as `https://127.0.0.1:1234`. */
  readonly origin: string;
  /** CA of its certificate. */
  readonly authority: string;
  /**
   * What its HTTPS server answers to requests that name the victim: each time the next of these hostile answers, by their
   * names; undefined for a good one. All others get good answers.
   */
  answer(good: Goodness, hostile?: readonly (string | undefined)[]): Promise<void>;
  rotateCertificate(): Promise<string>;
  /** Treats connections like the hostile peer of this name, until `endPeer`. */
  servePeer(
    at: { readonly path: string } | { readonly port: number; readonly host: string },
    name: string,
  ): Promise<void>;
  endPeer(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHostileProcess(): Promise<HostileProcess> {
  const program = path.join(import.meta.dirname, 'run-hostile-backend.ts');
  const child = fork(program, { execArgv: ['--conditions=source'] });
  const ended = once(child, 'exit').then((): never => {
    throw new StartError('the hostile backend has ended');
  });
  ended.catch(() => {}); // awaited with each command
  const ask = async (command: Command): Promise<string> => {
    child.send(command);
    const [answer]: unknown[] = await Promise.race([once(child, 'message'), ended]);
    return String(answer);
  };
  const authority = await ask({ do: 'start' });
  const origin = await ask({ do: 'origin' });
  return {
    origin,
    authority,
    answer: async (good, hostile = []) =>
      void (await ask({ do: 'answer', good, hostile: hostile.map((name) => name ?? null) })),
    rotateCertificate: () => ask({ do: 'rotate' }),
    servePeer: async (at, name) => void (await ask({ do: 'serve', at, name })),
    endPeer: async () => void (await ask({ do: 'end' })),
    stop: async () => {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}
