/** What docs/api-differences.md says of the recorded conversations, from `conformance`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { code } from './markdown.ts';
import { withSections } from './sections.ts';

const folder = join(import.meta.dirname, '..', '..', '..', '..', 'conformance');
/** The cases in which the specification of this server counts, not kube-apiserver. They were written by hand. */
const byHand = 'specification';

interface Area {
  readonly area: string;
  readonly cases: readonly { readonly name: string }[];
}

const readJson = (...name: readonly string[]): unknown => JSON.parse(readFileSync(join(folder, ...name), 'utf8'));

export const apiDifferencesPage = (): string => withSections('docs/api-differences.md', { conversations: describe() });

function describe(): string {
  const required = (readJson('required.json') as { required: readonly string[] }).required.map(
    (text) => new RegExp(text),
  );
  const areas = readdirSync(join(folder, 'cases'))
    .toSorted()
    .map((name) => readJson('cases', name) as Area);
  const isRequired = (area: string, name: string): boolean => required.some((one) => one.test(`${area}: ${name}`));
  const recorded = areas.filter(({ area }) => area !== byHand);
  const equal = recorded.flatMap(({ area, cases }) => cases.filter(({ name }) => isRequired(area, name)));
  const others = recorded.flatMap(({ area, cases }) => {
    const count = cases.filter(({ name }) => !isRequired(area, name)).length;
    return count === 0 ? [] : [`${code(area)} (${count} cases)`];
  });
  const own = areas.filter(({ area }) => area === byHand).flatMap(({ cases }) => cases.map(({ name }) => `- ${name}`));
  return `${equal.length} recorded conversations in ${recorded.length - others.length} areas are answered as by kube-apiserver 1.36.2; each test run requires it. Not required, because it is not served: ${others.join(', ')}.

In these cases the specification of this server counts. kube-apiserver 1.36.2 differs, or answers 500 to a mistake of a client:

${own.join('\n')}`;
}
