import { nearestName } from '@cluster-apiserver/base';
import { FlagError } from '../flags/flag.ts';
import { flagHelp } from '../flags/flags.ts';
import { configHelp } from './config/config-command.ts';
import { storageHelp } from './storage/storage-command.ts';

/** All commands, with what the help says of them. Without a command the program serves. */
const commands = {
  start: 'Starts a cluster to try: etcd, replicas and kubeconfigs in one folder. Not in the image of the server.',
  'config check': 'Checks configuration files as a server would that loads them.',
  'config schema': 'Prints the JSON Schema of configuration files.',
  'config show': 'Prints the flags and the configuration that a running server uses.',
  'storage inspect': 'Counts stored objects by resource and encryption provider.',
  'storage rewrite': 'Encrypts stored objects again, in their current version.',
  version: 'Prints the version.',
  help: 'Prints this; with a command, its options.',
};

const names = [...new Set(Object.keys(commands).map((name) => name.split(' ', 1)[0] ?? ''))];

const usage = `A Kubernetes-style API server on etcd.

Usage:
  cluster-apiserver COMMAND [OPTIONS]
  cluster-apiserver [FLAGS]            Serves the API of the etcd that --etcd-servers names.

Commands:
${Object.entries(commands)
  .map(([name, text]) => `  ${name.padEnd(16)} ${text}`)
  .join('\n')}

The flags follow by subject; docs/flags.md has them as a table.
`;

/** The help of the program, or of one command. */
export function helpOf(command: string | undefined): string {
  if (command === undefined) return `${usage}\n${flagHelp()}`;
  if (command === 'config') return configHelp;
  if (command === 'storage') return storageHelp;
  return `${usage.split('\n\n', 3).join('\n\n')}\n`;
}

/** Arguments that are no flag must be a command. */
export function requireCommand(name: string): void {
  if (names.includes(name)) return;
  const nearest = nearestName(name, names);
  throw new FlagError([
    `unknown command: ${name}${nearest ? `; did you mean ${nearest}?` : ''} (cluster-apiserver help lists all)`,
  ]);
}
