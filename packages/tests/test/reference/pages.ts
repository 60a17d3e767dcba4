/** The generated reference pages of docs. After an intended change: `npm run reference`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { configurationPage } from './configuration-page.ts';
import { flagsPage } from './flags-page.ts';

const docs = join(import.meta.dirname, '..', '..', '..', '..', 'docs');

export const pages: Readonly<Record<string, () => string>> = {
  'flags.md': flagsPage,
  'configuration.md': configurationPage,
};

export const writtenPage = (name: string): string => readFileSync(join(docs, name), 'utf8');

if (argv[1] === fileURLToPath(import.meta.url))
  for (const [name, page] of Object.entries(pages)) writeFileSync(join(docs, name), page());
