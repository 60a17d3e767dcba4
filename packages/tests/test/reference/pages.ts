/** The generated pages. After an intended change: `npm run reference`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { benchmarkChart, benchmarksPage, featuresChart, memoryChart, readme, scalingPage } from './benchmark.ts';
import { configurationPage } from './configuration-page.ts';
import { apiDifferencesPage } from './conformance.ts';
import { flagsPage } from './flags-page.ts';
import { messagesPage } from './messages-page.ts';
import { tour } from './tour.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');

/** By path in the repository. */
export const pages: Readonly<Record<string, () => string>> = {
  'docs/flags.md': flagsPage,
  'docs/configuration.md': configurationPage,
  'docs/messages.md': messagesPage,
  'docs/images/benchmark.svg': benchmarkChart,
  'docs/images/features.svg': featuresChart,
  'docs/images/memory-by-objects.svg': memoryChart,
  'docs/benchmarks.md': benchmarksPage,
  'docs/scaling.md': scalingPage,
  'docs/api-differences.md': apiDifferencesPage,
  'README.md': readme,
  'docs/images/tour.svg': tour,
};

export const writtenPage = (name: string): string => readFileSync(join(root, name), 'utf8');

if (argv[1] === fileURLToPath(import.meta.url))
  for (const [name, page] of Object.entries(pages)) {
    const before = writtenPage(name);
    writeFileSync(join(root, name), page());
    if (writtenPage(name) !== before) console.log(`${name} has changed`);
  }
