import { nearestName } from '@cluster-apiserver/base';
import { type Flag, FlagError, type FlagValues, flagSwitch } from './flag.ts';
import { admissionFlags } from './wiring/admission-flags.ts';
import { authenticationFlags } from './wiring/authentication-flags.ts';
import { authorizationFlags } from './wiring/authorization-flags.ts';
import { etcdFlags } from './wiring/etcd-flags.ts';
import { featureFlags } from './wiring/feature-flags.ts';
import { genericFlags } from './wiring/generic-flags.ts';
import { loggingFlags } from './wiring/logging-flags.ts';
import { oidcFlags } from './wiring/oidc-flags.ts';
import { serviceAccountFlags } from './wiring/service-account-flags.ts';
import { servingFlags } from './wiring/serving-flags.ts';

export { FlagError };

const globalFlags = {
  help: flagSwitch({ help: 'Print this help.' }),
  version: flagSwitch({ help: 'Print the version.' }),
};

/** The flags of the server in the order of the help. They have upstream's names wherever upstream has the thing. */
const groups = {
  'Generic flags': genericFlags,
  'Etcd flags': etcdFlags,
  'Secure serving flags': servingFlags,
  'Authentication flags': { ...authenticationFlags, ...oidcFlags, ...serviceAccountFlags },
  'Authorization flags': authorizationFlags,
  'Admission flags': admissionFlags,
  'Features flags': featureFlags,
  'Logs flags': loggingFlags,
  'Global flags': globalFlags,
} satisfies Record<string, Record<string, Flag<unknown>>>;

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

export type ServerFlags = FlagValues<Intersection<(typeof groups)[keyof typeof groups]>>;

const flags = new Map(Object.values(groups).flatMap((group) => Object.entries<Flag<unknown>>(group)));

/** Reads `--name value`, `--name=value` and, for switches, `--name`. Several lists are one; of other values the last counts. */
export function parseFlags(args: readonly string[]): ServerFlags {
  const faults: string[] = [];
  const written = new Map<string, string[]>();
  const write = (name: string, value: string): void => void written.set(name, [...(written.get(name) ?? []), value]);
  for (let i = 0; i < args.length; i++) {
    const match = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(args[i] as string);
    if (!match) {
      faults.push(`unexpected argument: ${args[i]}`);
      continue;
    }
    const name = match[1] as string;
    const flag = flags.get(name);
    if (!flag) faults.push(unknownFlag(name));
    else if (match[2] !== undefined) write(name, match[2]);
    else if (flag.placeholder === undefined) write(name, 'true');
    else if (i + 1 < args.length) write(name, args[++i] as string);
    else faults.push(`--${name} needs a value`);
  }
  const values = [...flags].map(([name, flag]) => {
    const given = written.get(name) ?? [flag.fallback];
    const values = given.map((one) => {
      const value = flag.read(one);
      if (value === undefined) faults.push(`--${name}: ${JSON.stringify(one)} is not ${flag.wanted}`);
      return value;
    });
    return [name, flag.join && !values.includes(undefined) ? flag.join(values) : values.at(-1)];
  });
  if (faults.length > 0) throw new FlagError(faults);
  return Object.fromEntries(values) as ServerFlags; // each value was read by its own flag
}

function unknownFlag(name: string): string {
  const nearest = nearestName(name, [...flags.keys()]);
  return `unknown flag: --${name}${nearest ? `; did you mean --${nearest}?` : ''}`;
}

/** The help, by groups. */
export function flagHelp(): string {
  const lines = ['cluster-apiserver serves the API of a cluster from etcd.', ''];
  for (const [title, members] of Object.entries(groups)) {
    lines.push(`${title}:`, '');
    for (const [name, { placeholder, fallback, help }] of Object.entries<Flag<unknown>>(members)) {
      lines.push(
        `      --${name}${placeholder ? ` ${placeholder}` : ''}`,
        `                ${help}${fallback && fallback !== 'false' ? ` (default ${fallback})` : ''}`,
      );
    }
    lines.push('');
  }
  return lines.join('\n');
}
