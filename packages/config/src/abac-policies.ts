import { runSync, type SyncTask } from '@cluster-apiserver/base';
import type { AbacPolicy } from '@cluster-apiserver/model';
import { boolean, object, string } from '@cluster-apiserver/model/schema';
import { ConfigurationError, Findings, type Problem } from './findings.ts';
import { defineConfigurationKind, readEmbedded } from './load.ts';
import { required, withDefault } from './schema.ts';

/** Each request may be compared with all policies of its user. */
const policiesMax = 10_000;
/** More are of no use to the reader, and each takes time. */
const problemsMax = 100;

const spec = object({
  user: withDefault(string, 'Name of the user.', ''),
  group: withDefault(string, 'Group of the user. If both are set, both must match.', ''),
  namespace: withDefault(string, 'Namespace of the requested objects.', ''),
  resource: withDefault(string, 'Requested resource, in the plural.', ''),
  apiGroup: withDefault(string, 'API group of the resource.', ''),
  nonResourcePath: withDefault(string, 'Path that is no resource; a trailing `*` matches any rest.', ''),
  readonly: withDefault(boolean, 'Whether only get, list and watch are allowed.', false),
});

export const abacPolicyKind = defineConfigurationKind({
  kind: 'Policy',
  groups: ['abac.authorization.kubernetes.io'],
  versions: ['v1beta1'],
  description: 'One policy. The file has one of them in JSON on each line; empty lines and those with # are skipped.',
  fields: {
    spec: required(spec, 'Permissions of a subject. An empty field matches nothing, and `*` everything.'),
  },
});

/**
 * Reads a policy file: one Policy in JSON per line; empty lines and lines that begin with # are skipped. Throws a
 * ConfigurationError with all problems. Unknown fields are problems: a policy that lacks a misspelled condition would allow
 * more than intended.
 */
export const loadAbacPolicies = (text: string): readonly AbacPolicy[] => runSync(readAbacPolicies(text));

/** The same in steps: a large file takes hundreds of milliseconds, in which a server that reloads it serves requests. */
export function* readAbacPolicies(text: string): SyncTask<readonly AbacPolicy[]> {
  // A file without a line is one that is being written; without policies it would take all rights away.
  if (text.trim() === '') throw new ConfigurationError(['the file is empty']);
  const lines = text.split('\n').map((line, index) => ({ text: line.trim(), line, number: index + 1 }));
  const policyLines = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'));
  if (policyLines.length > policiesMax)
    throw new ConfigurationError([`Too many: ${policyLines.length}: must have at most ${policiesMax} policies`]);
  const policies: AbacPolicy[] = [];
  const problems: (Problem | string)[] = [];
  for (const { text: policy, line, number } of policyLines) {
    const start = { line: number, indent: line.length - line.trimStart().length, name: `line ${number}` };
    const findings = new Findings(policy, { start });
    const read = readPolicy(policy, findings);
    if (read) policies.push(read); // without it there is a problem
    problems.push(...findings.problems);
    yield;
    if (problems.length < problemsMax) continue;
    problems.push(`line ${number} and above have ${problems.length} problems; the rest was not read`);
    break;
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return policies;
}

/** Undefined if the line is not JSON. */
function parsePolicyLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // the error would show a piece of the line
  }
}

function readPolicy(text: string, findings: Findings): AbacPolicy | undefined {
  const value = parsePolicyLine(text);
  if (value === undefined || value === null) {
    findings.add([], 'expected a policy as JSON');
    return undefined;
  }
  return readEmbedded(abacPolicyKind, (policy) => policy.spec, value, [], findings);
}
