import path from 'node:path';
import type { Home } from './home.ts';
import { findProgram } from './program-in.ts';
import type { Program } from './supervise.ts';

/** Settings of the front, which the launcher passes as arguments. */
export interface FrontSettings {
  readonly directory: string;
  readonly listen: string;
  readonly port: number;
  readonly replicas: readonly number[];
}

/** The argument that runs the launcher's program as the front. */
export const frontCommand = 'front';

export function createFrontProgram(node: string, settings: FrontSettings, home: Home, env: NodeJS.ProcessEnv): Program {
  const { directory, listen, port, replicas } = settings;
  const { options, file } = findProgram('devcluster');
  return {
    name: 'front',
    command: node,
    args: [...options, file, frontCommand, directory, String(port), replicas.join(','), listen],
    env,
    logFile: path.join(home.logs, 'front.log'),
    channel: true,
  };
}

/** Parses the arguments of `createFrontProgram`. */
export function parseFrontSettings([
  directory = '',
  port,
  replicas = '',
  listen = '127.0.0.1',
]: readonly string[]): FrontSettings {
  return { directory, listen, port: Number(port), replicas: replicas.split(',').map(Number) };
}
