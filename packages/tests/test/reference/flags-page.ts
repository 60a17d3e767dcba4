import { flagGroups } from '@cluster-apiserver/server';
import { code, generated, table } from './markdown.ts';

/** Generates docs/flags.md from the declared flags. */
export const flagsPage = (): string => `# Flags

${generated('packages/tests/test/reference/flags-page.ts')}

\`cluster-apiserver --help\` prints the same. Write values as \`--name value\` or \`--name=value\`, and switches as \`--name\`. A list is one flag with commas, or a repeated flag. [configuration.md](configuration.md) describes the files that flags refer to. \`cluster-apiserver config show\` prints the effective configuration of a running server.

${flagGroups
  .map(
    ([title, flags]) => `## ${title}

${table(
  ['flag', 'value', 'default', 'meaning'],
  Object.entries(flags).map(([name, { placeholder, default: defaultValue, help }]) => [
    code(`--${name}`),
    placeholder ?? '',
    code(defaultValue),
    help.replaceAll(/(?<!`)(--[a-z][a-z-]*)/g, '`$1`').replaceAll('*', '\\*'),
  ]),
)}
`,
  )
  .join('\n')}`;
