import { type Flag, FlagError, type FlagValues, boolean } from './flag.ts';
import { parseFlagsOf } from './parse-flags.ts';
import { admissionFlags } from '../admission/admission-flags.ts';
import { auditFlags } from '../audit/audit-flags.ts';
import { authenticationFlags } from '../authentication/authentication-flags.ts';
import { authorizationFlags } from '../authorization/authorization-flags.ts';
import { etcdFlags } from '../storage/etcd-flags.ts';
import { featureFlags } from '../configuration/feature-flags.ts';
import { controllerFlags } from '../controllers/controller-flags.ts';
import { requestFlags } from '../serving/request-flags.ts';
import { loggingFlags } from '../observability/logging-flags.ts';
import { oidcFlags } from '../authentication/oidc-flags.ts';
import { serviceAccountFlags } from '../authentication/service-account-flags.ts';
import { servingFlags } from '../serving/serving-flags.ts';
import { tracingFlags } from '../observability/tracing-flags.ts';

export { FlagError };

const globalFlags = {
  help: boolean('Print this help.'),
  version: boolean('Print the version.'),
};

/** The flags of the server in the order of the help, with the names of kube-apiserver wherever it has such a flag. */
const groups = {
  'Generic flags': { ...requestFlags, ...controllerFlags },
  'Etcd flags': etcdFlags,
  'Secure serving flags': servingFlags,
  'Authentication flags': { ...authenticationFlags, ...oidcFlags, ...serviceAccountFlags },
  'Authorization flags': authorizationFlags,
  'Admission flags': admissionFlags,
  'Audit flags': auditFlags,
  'Features flags': featureFlags,
  'Logs flags': loggingFlags,
  'Traces flags': tracingFlags,
  'Global flags': globalFlags,
} satisfies Record<string, Record<string, Flag<unknown>>>;

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

type Flags = Intersection<(typeof groups)[keyof typeof groups]>;
export type ServerFlags = FlagValues<Flags>;

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Flags is the intersection of all groups, which Object.assign cannot say of a list.
const flags = Object.assign({}, ...Object.values(groups)) as Flags;

export const parseFlags = (args: readonly string[]): ServerFlags => parseFlagsOf(flags, args);

/** The groups with their titles, in the order of the help. */
export const flagGroups: readonly (readonly [title: string, flags: Readonly<Record<string, Flag<unknown>>>])[] =
  Object.entries(groups);

/** The flags by subject, as `--help` prints them. */
export function flagHelp(): string {
  const lines: string[] = [];
  for (const [title, members] of flagGroups) {
    lines.push(`${title}:`, '');
    for (const [name, { placeholder, default: defaultValue, help }] of Object.entries(members)) {
      lines.push(
        `      --${name}${placeholder ? ` ${placeholder}` : ''}`,
        `                ${help}${defaultValue && defaultValue !== 'false' ? ` (default ${defaultValue})` : ''}`,
      );
    }
    lines.push('');
  }
  return lines.join('\n');
}
