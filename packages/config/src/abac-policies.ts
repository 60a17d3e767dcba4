import type { AbacPolicy } from '@cluster-apiserver/model';
import { ConfigurationError, Findings } from './findings.ts';
import { declareKind, readEmbedded } from './load.ts';
import { boolean, object, string } from './schema.ts';

/** Each request may be compared with all policies of its user. */
const policiesMax = 10_000;

export const abacPolicyKind = declareKind({
  kind: 'Policy',
  groups: ['abac.authorization.kubernetes.io'],
  versions: ['v1beta1'],
  description: 'One policy. The file has one of them in JSON on each line; empty lines and those with # are skipped.',
  fields: {
    spec: object('What a subject may do. An empty field matches nothing, and `*` everything.', {
      user: string('Name of the user.'),
      group: string('Group of the user. If both are set, both must match.'),
      namespace: string('Namespace of the requested objects.'),
      resource: string('Requested resource, in the plural.'),
      apiGroup: string('API group of the resource.'),
      nonResourcePath: string('Path that is no resource; a trailing `*` matches any rest.'),
      readonly: boolean('Whether only get, list and watch are allowed.', { default: false }),
    }),
  },
  required: ['spec'],
});

/**
 * Reads a policy file: one Policy in JSON per line; empty lines and lines that begin with # are skipped. Throws a
 * ConfigurationError with all problems. Unknown fields are problems: a policy that lacks a misspelled condition would allow
 * more than intended.
 */
export function loadAbacPolicies(text: string): readonly AbacPolicy[] {
  // A file without a line is one that is being written; without policies it would take all rights away.
  if (text.trim() === '') throw new ConfigurationError(['the file is empty']);
  const lines = text.split('\n').map((line, index) => ({ text: line.trim(), line, number: index + 1 }));
  const policyLines = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'));
  if (policyLines.length > policiesMax)
    throw new ConfigurationError([`Too many: ${policyLines.length}: must have at most ${policiesMax} policies`]);
  const all: Findings[] = [];
  const policies = policyLines.map(({ text: policy, line, number }) => {
    const start = { line: number, indent: line.length - line.trimStart().length, name: `line ${number}` };
    const findings = new Findings(policy, { start });
    all.push(findings);
    return readPolicy(policy, findings);
  });
  const problems = all.flatMap((findings) => findings.problems);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return policies.filter((policy) => policy !== undefined); // each undefined one has a problem
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
    findings.add('', 'expected a policy as JSON');
    return undefined;
  }
  return readEmbedded(
    abacPolicyKind,
    ({ spec }) => {
      const fields = spec.fields();
      return {
        user: fields.user.string() ?? '',
        group: fields.group.string() ?? '',
        namespace: fields.namespace.string() ?? '',
        resource: fields.resource.string() ?? '',
        apiGroup: fields.apiGroup.string() ?? '',
        nonResourcePath: fields.nonResourcePath.string() ?? '',
        readonly: fields.readonly.boolean() ?? false,
      };
    },
    value,
    '',
    findings,
  );
}
