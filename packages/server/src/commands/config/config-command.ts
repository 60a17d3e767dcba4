import { FlagError, durationMs, boolean, oneOf, path, text } from '../../flags/flag.ts';
import type { Environment } from '../../environment.ts';
import { parseFlagsOf } from '../../flags/parse-flags.ts';
import { check } from './check.ts';
import { getSchema } from './schema.ts';
import { show } from './show.ts';

export const configHelp = `cluster-apiserver config check [--output text|json] [--warn-before 720h] FILE…
      Checks configuration files, static manifests, kubeconfigs and PEM files as a server would that loads them.
      Exits with 0 if they are valid, 1 if not, 2 if the command line is wrong.
cluster-apiserver config schema KIND
      Prints the JSON Schema of a kind of configuration; without a KIND, all kinds.
cluster-apiserver config show [--output text|json] --kubeconfig FILE
cluster-apiserver config show [--output text|json] --server URL [--token TOKEN | --token-file FILE]
      [--certificate-authority FILE]
      Prints the flags and the configuration files that a running server uses.
`;

const wrongUsage = 2;

const output = oneOf<'text' | 'json'>('Format of the output.', 'text', ['text', 'json']);
const flags = {
  check: {
    output,
    'warn-before': durationMs('Warn of certificates that expire within this time.', '720h'),
    help: boolean('Print the help.'),
  },
  schema: { help: boolean('Print the help.') },
  show: {
    output,
    kubeconfig: path('Kubeconfig of the server.'),
    server: text('URL of the server.', '', 'url'),
    token: text('Bearer token.'),
    'token-file': path('File with a bearer token, which other users of the machine cannot see.'),
    'certificate-authority': path('Certificates that are trusted; those of the system by default.'),
    help: boolean('Print the help.'),
  },
};

/** Runs `cluster-apiserver config …`. Returns the exit code. */
export async function configCommand(
  [command, ...args]: readonly string[],
  environment: Pick<Environment, 'clock' | 'random' | 'files'>,
  print: (line: string) => void,
  printError: (line: string) => void,
): Promise<number> {
  try {
    switch (command) {
      case 'check': {
        const paths: string[] = [];
        const values = parseFlagsOf(flags.check, args, paths);
        if (values.help) return help(print);
        if (paths.length === 0) throw new FlagError(['name at least one file to check']);
        return await check({
          ...environment,
          paths,
          output: values.output,
          warnBeforeMs: values['warn-before'],
          print,
        });
      }
      case 'schema': {
        const others: string[] = [];
        const values = parseFlagsOf(flags.schema, args, others);
        if (values.help) return help(print);
        if (others.length > 1) throw new FlagError([`unexpected argument: ${others[1]}`]);
        print(JSON.stringify(getSchema(others[0]), null, 2));
        return 0;
      }
      case 'show': {
        const values = parseFlagsOf(flags.show, args);
        if (values.help) return help(print);
        return await show(values, environment, print, printError);
      }
      case '--help':
        return help(print);
      default:
        throw new FlagError([`config does check, schema and show\n\n${configHelp}`]);
    }
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    printError(error.message);
    return wrongUsage;
  }
}

function help(print: (line: string) => void): number {
  print(configHelp.trimEnd());
  return 0;
}
