/**
 * Measures the well-behaved client at stand-ins for the server, the store and the attacker. Each uses as much processor
 * time as its original did during an attack and works in short turns. What the client then waits for is what this
 * machine adds to every server.
 */
import type { ChildProcess } from 'node:child_process';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { nextMessage, type Priority, type Programs, cores } from './programs.ts';
import type { PoliteReport, UseOfAttack } from './report.ts';

export interface ControlOptions {
  readonly programs: Programs;
  readonly use: UseOfAttack;
  readonly seconds: number;
  readonly ca: string;
  readonly token: string;
  readonly certificate: string;
  readonly key: string;
}

const startMs = 20_000;
const stopMs = 25_000;

export async function measureControl({
  programs,
  use,
  seconds,
  ca,
  token,
  certificate,
  key,
}: ControlOptions): Promise<PoliteReport | undefined> {
  const started: ChildProcess[] = [];
  const start = (role: 'server' | 'store' | 'attacker', priority: Priority, more: readonly string[]): ChildProcess => {
    const { main, otherThreads } = use[role];
    const shares = [main, otherThreads].map((share) => share.toFixed(3));
    const core = role === 'server' ? cores.server : cores.load;
    const child = programs.start('stand-in', priority, [role, ...shares, ...more], core);
    started.push(child);
    return child;
  };
  try {
    const storePort = await nextMessage<number>(start('store', 'served', []), 'number', startMs);
    const server = start('server', 'served', [`${storePort}`, certificate, key]);
    const port = await nextMessage<number>(server, 'number', startMs);
    const polite = programs.start('polite', 'realTime', [`${port}`, ca, token, '/polite']);
    started.push(polite);
    await nextMessage(polite, 'string', startMs);
    start('attacker', 'normal', []);
    await sleep(clock, seconds * 1_000);
    if (polite.connected) polite.send('stop');
    return await nextMessage<PoliteReport>(polite, 'object', stopMs);
  } finally {
    for (const child of started) child.kill('SIGKILL');
  }
}
