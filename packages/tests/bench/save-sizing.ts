import fs from 'node:fs';
import path from 'node:path';

const file = path.resolve(import.meta.dirname, '..', '..', '..', 'bench', 'measured.json');

const isSaved = process.argv.includes('--save');

/** The arguments of the program but `--save`, which keeps its figures in the table of docs/scaling.md. */
export const args = process.argv.slice(2).filter((one) => one !== '--save');

interface Row {
  readonly part: string;
  measured?: string;
  command?: string;
  date?: string;
}

/** Replaces what was measured for a row of the table. */
export function saveSizing(part: string, measured: string): void {
  if (!isSaved) return;
  const saved = JSON.parse(fs.readFileSync(file, 'utf8')) as { readonly sizing: readonly Row[] };
  const row = saved.sizing.find((one) => one.part === part);
  if (!row) throw new Error(`bench/measured.json has no row ${part}`);
  Object.assign(row, { measured, command: 'npm run bench -- sizing', date: new Date().toISOString().slice(0, 10) });
  fs.writeFileSync(file, `${JSON.stringify(saved, null, 2)}\n`);
}
