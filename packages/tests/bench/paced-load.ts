/** Requests of one user, which wrk sends at a rate as overload.lua says, and what the server has counted of them. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

interface PacedLoad {
  readonly url: string;
  readonly token: string;
  /** One of overload.lua. */
  readonly workload: string;
  readonly connections: number;
  readonly seconds: number;
  /** Of each connection between two requests, on average. */
  readonly pauseMs: number;
}

const wrk = process.env['WRK_BIN'] ?? 'wrk';
const script = path.join(import.meta.dirname, 'overload.lua');
const run = promisify(execFile);

/** Resolves when the time is over. */
export async function sendPaced({ url, token, workload, connections, seconds, pauseMs }: PacedLoad): Promise<void> {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script];
  await run(wrk, [...options, url, '--', token, workload, String(pauseMs)]);
}

/** The sum of the series of `apiserver_request_total` that have these labels. */
export function countRequests(exposition: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return exposition
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{') && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
