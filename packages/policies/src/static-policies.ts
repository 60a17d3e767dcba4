import { atOnce } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model';
import type { ActivePolicy, FollowPoliciesOptions } from './followed-policies.ts';
import { bindPolicies } from './bind-policies.ts';

/** Policies of one type and their bindings, as files have them. Each change makes another object of it. */
export interface StaticObjects {
  readonly policies: readonly KubeObject[];
  readonly bindings: readonly KubeObject[];
}

/** Ends the names of objects that come from files, and of no others. */
export const staticSuffix = '.static.k8s.io';

/** What policies from files cannot have: parameters are objects of the API, and so are the policies of its bindings. */
export function staticProblems({ policies, bindings }: StaticObjects): ReadonlyMap<KubeObject, readonly string[]> {
  const names = new Set(policies.map(({ metadata }) => metadata.name));
  return new Map([
    ...policies.map((policy) => [policy, problemsOfPolicy(policy as PolicyOrBinding)] as const),
    ...bindings.map((binding) => [binding, problemsOfBinding(binding as PolicyOrBinding, names)] as const),
  ]);
}

type PolicyOrBinding = KubeObject & {
  readonly spec?: { readonly paramKind?: object; readonly paramRef?: object; readonly policyName?: string };
};

const problemsOfPolicy = ({ spec = {} }: PolicyOrBinding): readonly string[] =>
  spec.paramKind ? ['spec.paramKind: Forbidden: not supported for static manifests'] : [];

function problemsOfBinding({ spec = {} }: PolicyOrBinding, names: ReadonlySet<string | undefined>): readonly string[] {
  const { paramRef, policyName = '' } = spec;
  const at = `spec.policyName: Invalid value: ${JSON.stringify(policyName)}`;
  return [
    ...(paramRef ? ['spec.paramRef: Forbidden: not supported for static manifests'] : []),
    ...(!policyName.endsWith(staticSuffix)
      ? [`${at}: must end with ${JSON.stringify(staticSuffix)}`]
      : names.has(policyName)
        ? []
        : [`${at}: there is no such policy in the directory`]),
  ];
}

/** Compiled now, so that no write waits for it, and again after each change. There are none without objects. */
export function staticPolicies<
  Policy extends { readonly name: string },
  Binding extends { readonly policyName: string },
>(
  objects: (() => StaticObjects) | undefined,
  { compilePolicy, compileBinding }: Pick<FollowPoliciesOptions<Policy, Binding>, 'compilePolicy' | 'compileBinding'>,
): () => readonly ActivePolicy<Policy, Binding>[] {
  if (!objects) return () => none;
  const compile = (from: StaticObjects) => ({
    from,
    active: bindPolicies(
      from.policies.map((policy) => atOnce(compilePolicy(policy))),
      from.bindings.map(compileBinding),
    ),
  });
  let compiled = compile(objects());
  return () => {
    const from = objects();
    if (compiled.from !== from) compiled = compile(from);
    return compiled.active;
  };
}

const none: readonly never[] = [];
