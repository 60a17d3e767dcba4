/**
 * The attacker's process: `load.ts ATTACK PORT CA-FILE TOKEN-FILE SECONDS`. Prepares, waits for its parent, attacks,
 * reports.
 */
import fs from 'node:fs';
import { systemClock as clock } from '@cluster-apiserver/base';
import { attacks } from './attacks.ts';

const [name = '', port = '', ca = '', token = '', seconds = ''] = process.argv.slice(2);
const attack = attacks.find((one) => one.name === name);
if (!attack) throw new Error(`unknown attack ${name}`);

process.once('disconnect', () => process.exit(0));
const counts: Record<string, number> = {};
const over = new AbortController();
const begin = await attack.prepare({
  target: { port: Number(port), ca: fs.readFileSync(ca) },
  token: fs.readFileSync(token, 'utf8').trim(),
  signal: over.signal,
  count: (outcome, times = 1) => void (counts[outcome] = (counts[outcome] ?? 0) + times),
});
process.send?.('prepared');
await new Promise((resolve) => process.once('message', resolve));
clock.after(Number(seconds) * 1_000, () => over.abort());
const ended = new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()));
await Promise.race([begin(), ended]);
// Its parent reads the CPU time and then ends this process.
process.once('message', () => {});
process.send?.({ counts });
