/**
 * What is wrong with the expressions of a policy if objects have the types of their kinds. Without them every field might
 * exist, so an expression that names a field that is not there is accepted, and fails with each request.
 */
import type { SyncTask } from '@cluster-apiserver/base';
import {
  createAdmissionEnvironment,
  compileIn,
  compileVariables,
  type Environment,
  type Type,
  typeOfKind,
  withVariables,
} from '@cluster-apiserver/expressions';
import type { ParamKind, ValidatingAdmissionPolicy } from '@cluster-apiserver/kinds';
import type { ServedKind } from '@cluster-apiserver/model/kind';

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** As in kube-apiserver: every expression is compiled once for each of them. */
const typesMax = 10;

/** More warnings do not help, and the status is stored with the policy. */
const warningsMax = 100;

/** The line of an expression stands in its warning, and is as long as its writer likes. */
const warningCharactersMax = 2_048;

/** The warnings for the status of a policy, out of what is served. Nothing is known of rules with wildcards. */
export function* checkTypes(
  policy: ValidatingAdmissionPolicy,
  served: readonly ServedKind[],
): SyncTask<readonly ExpressionWarning[]> {
  const { variables = [], validations = [], paramKind } = policy.spec;
  const paramsType = typeOfParams(paramKind, served);
  const typed: TypedEnvironment[] = [];
  for (const kind of kindsMatched(policy, served)) {
    const environment = createAdmissionEnvironment({
      hasAuthorizer: true,
      hasParams: paramKind !== undefined,
      objectType: typeOfKind(kind.kind, kind.schema),
      ...(paramsType && { paramsType }),
    });
    // What is wrong with a variable shows where it is used.
    const compiled = yield* compileVariables(environment, variables);
    typed.push({ kind, environment: withVariables(environment, compiled.variables) });
  }
  const warnings: ExpressionWarning[] = [];
  for (const [index, { expression, messageExpression }] of validations.entries())
    for (const [name, text] of Object.entries({ expression, messageExpression })) {
      if (!text || warnings.length >= warningsMax) continue;
      const found: string[] = [];
      for (const one of typed) {
        found.push(...faultsIn(text, one));
        yield;
      }
      if (found.length > 0)
        warnings.push({
          fieldRef: `spec.validations[${index}].${name}`,
          warning: found.join('\n').slice(0, warningCharactersMax),
        });
    }
  return warnings;
}

interface TypedEnvironment {
  readonly kind: ServedKind;
  readonly environment: Environment;
}

function faultsIn(text: string, { kind, environment }: TypedEnvironment): readonly string[] {
  const compiled = compileIn(environment, text);
  if (!('faults' in compiled)) return [];
  return [`${kind.group}/${kind.version}, Kind=${kind.kind}: ${compiled.faults.join('\n')}\n`];
}

function typeOfParams(paramKind: ParamKind | undefined, served: readonly ServedKind[]): Type | undefined {
  const found = served.find(({ apiVersion, kind }) => apiVersion === paramKind?.apiVersion && kind === paramKind.kind);
  return found && typeOfKind(found.kind, found.schema);
}

function kindsMatched(
  { spec: { matchConstraints } }: ValidatingAdmissionPolicy,
  served: readonly ServedKind[],
): readonly ServedKind[] {
  const rules = (matchConstraints?.resourceRules ?? []).filter(
    ({ apiGroups = [], apiVersions = [] }) => ![...apiGroups, ...apiVersions].includes('*'),
  );
  return served
    .filter(({ group, version, plural }) =>
      rules.some(
        ({ apiGroups = [], apiVersions = [], resources = [] }) =>
          apiGroups.includes(group) && apiVersions.includes(version) && resources.includes(plural),
      ),
    )
    .toSorted((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1))
    .slice(0, typesMax);
}

const sortKeyOf = ({ group, version, kind }: ServedKind): string => [group, version, kind].join('\0');
