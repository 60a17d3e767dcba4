import fs from 'node:fs';
import path from 'node:path';
import { requireValue } from '@cluster-apiserver/base';

const file = path.resolve(import.meta.dirname, '..', '..', '..', 'bench', 'measured.json');

const isSaved = process.argv.includes('--save');

/** The arguments of the program but `--save`, which keeps its figures in bench/measured.json. */
export const args = process.argv.slice(2).filter((one) => one !== '--save');

interface Row {
  readonly part?: string;
  readonly feature?: string;
}

/** Replaces what was measured for a row of the table of docs/scaling.md. */
export function saveSizing(part: string, measured: string): void {
  save('sizing', (row) => row.part === part, { measured });
}

/** Half of the turns lie between the bounds. */
export interface Ratio {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** Replaces what was measured for a row of the features in docs/benchmarks.md. */
export function saveFeature(feature: string, { low, median, high }: Ratio): void {
  const [ratio, ...range] = [median, low, high].map((one) => Number(one.toFixed(2)));
  save('features', (row) => row.feature === feature, { ratio, range });
}

function save(table: 'sizing' | 'features', isRow: (row: Row) => boolean, figures: object): void {
  if (!isSaved) return;
  const saved = JSON.parse(fs.readFileSync(file, 'utf8')) as Readonly<Record<typeof table, readonly Row[]>>;
  const row = requireValue(saved[table].find(isRow));
  Object.assign(row, figures, { command: `npm run bench -- ${table}`, date: new Date().toISOString().slice(0, 10) });
  fs.writeFileSync(file, `${JSON.stringify(saved, null, 2)}\n`);
}
