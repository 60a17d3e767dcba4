import { flagGroups } from '@cluster-apiserver/server';
import { code, generated, table } from './markdown.ts';

/** docs/flags.md, of the declarations of the flags. */
export const flagsPage = (): string => `# Flags

${generated('packages/tests/test/reference/flags-page.ts')}

\`cluster-apiserver --help\` prints the same. Values are written as \`--name value\` or \`--name=value\`, and switches as \`--name\`. A list may be given in one flag, separated by commas, or in several. The files that flags name are described in [configuration.md](configuration.md); what a running server uses is shown by \`cluster-apiserver config show\`.

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
