import type { AbacPolicy } from '@cluster-apiserver/model';
import { ConfigurationError } from './load.ts';
import { Written } from './written.ts';

/** All policies of a user may have to be compared with each of its requests. */
const policiesMax = 10_000;

/**
 * Reads a policy file: one Policy in JSON on each line, besides empty lines and those that begin with #. Throws a
 * ConfigurationError with everything that is wrong. Unknown fields are faults, because a policy without the field that
 * somebody meant to write allows more than he wanted.
 */
export function loadAbacPolicies(text: string): readonly AbacPolicy[] {
  const faults: string[] = [];
  const lines = text.split('\n').map((line, index) => ({ text: line.trim(), number: index + 1 }));
  const written = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'));
  if (written.length > policiesMax)
    throw new ConfigurationError([`Too many: ${written.length}: must have at most ${policiesMax} policies`]);
  const policies = written.map((line) => readPolicy(new Written(parsed(line.text), `line ${line.number}`, faults)));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return policies;
}

/** Undefined for what is no JSON. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // the error would show a piece of the line
  }
}

const apiVersions = ['abac.authorization.kubernetes.io/v1beta1'];

function readPolicy(written: Written): AbacPolicy {
  if (written.absent) written.wrong('expected a policy as JSON');
  const { apiVersion, kind, spec } = written.fields(['apiVersion', 'kind', 'spec']);
  if (!written.absent) {
    if (!apiVersions.includes(apiVersion.text() ?? '')) apiVersion.wrong(`expected ${apiVersions.join(' or ')}`);
    if (kind.text() !== 'Policy') kind.wrong('expected Policy');
    if (spec.absent) spec.required();
  }
  const fields = spec.fields(['user', 'group', 'namespace', 'resource', 'apiGroup', 'nonResourcePath', 'readonly']);
  return {
    user: fields.user.text() ?? '',
    group: fields.group.text() ?? '',
    namespace: fields.namespace.text() ?? '',
    resource: fields.resource.text() ?? '',
    apiGroup: fields.apiGroup.text() ?? '',
    nonResourcePath: fields.nonResourcePath.text() ?? '',
    readonly: fields.readonly.fact() ?? false,
  };
}
