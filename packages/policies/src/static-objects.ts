import { atOnce, type Clock, perform, type Steps } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model';

/** Ends the names of objects that come from files, and of no others. */
export const staticSuffix = '.static.k8s.io';

/** Policies of one type and their bindings, as files have them. Each change makes another object of it. */
export interface StaticPolicies {
  readonly policies: readonly KubeObject[];
  readonly bindings: readonly KubeObject[];
}

/** By the objects that have any. */
export type StaticProblems = ReadonlyMap<KubeObject, readonly string[]>;

const describeForbidden = (field: string, why = 'not supported for static manifests'): string =>
  `${field}: Forbidden: ${why}`;

/** What policies from files cannot have: parameters are objects of the API, and so are the policies of its bindings. */
export function findStaticPolicyProblems({ policies, bindings }: StaticPolicies): StaticProblems {
  const names = new Set(policies.map(({ metadata }) => metadata.name));
  return new Map([
    ...policies.map((policy) => [policy, findPolicyProblems(policy as PolicyOrBinding)] as const),
    ...bindings.map((binding) => [binding, findBindingProblems(binding as PolicyOrBinding, names)] as const),
  ]);
}

type PolicyOrBinding = KubeObject & {
  readonly spec?: { readonly paramKind?: object; readonly paramRef?: object; readonly policyName?: string };
};

const findPolicyProblems = ({ spec = {} }: PolicyOrBinding): readonly string[] =>
  spec.paramKind ? [describeForbidden('spec.paramKind')] : [];

function findBindingProblems(
  { spec = {} }: PolicyOrBinding,
  names: ReadonlySet<string | undefined>,
): readonly string[] {
  const { paramRef, policyName = '' } = spec;
  const at = `spec.policyName: Invalid value: ${JSON.stringify(policyName)}`;
  return [
    ...(paramRef ? [describeForbidden('spec.paramRef')] : []),
    ...(!policyName.endsWith(staticSuffix)
      ? [`${at}: must end with ${JSON.stringify(staticSuffix)}`]
      : names.has(policyName)
        ? []
        : [`${at}: there is no such policy in the directory`]),
  ];
}

/** What webhooks from files cannot have, as in kube-apiserver: a service that the cluster may not have yet. */
export const findStaticWebhookProblems = (configurations: readonly KubeObject[]): StaticProblems =>
  new Map(configurations.map((one) => [one, findWebhookProblems(one as WebhooksOfFile)]));

type WebhooksOfFile = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly service?: object } }[];
};

const findWebhookProblems = ({ webhooks = [] }: WebhooksOfFile): readonly string[] =>
  webhooks.flatMap(({ clientConfig }, index) =>
    clientConfig?.service
      ? [describeForbidden(`webhooks[${index}].clientConfig.service`, 'not supported for static manifests; use url')]
      : [],
  );

/** Objects that files contain now. */
export interface StaticSource<Objects> {
  readonly current: Objects;
  onChange(listener: () => void): void;
}

/**
 * The compiled objects of files: the first ones now, before the server serves; later ones in steps, in the background, and
 * the previous ones stay in force until then. There are none without a source.
 */
export function compileStaticObjects<Objects, One>(
  source: StaticSource<Objects> | undefined,
  compile: (objects: Objects) => Steps<readonly One[]>,
  { clock, compileFailed }: { readonly clock: Clock; readonly compileFailed: (error: unknown) => void },
): () => readonly One[] {
  if (!source) return () => none;
  let compiled = atOnce(compile(source.current));
  source.onChange(() => {
    const objects = source.current;
    const work = perform(clock, undefined, compile(objects), true) as Promise<readonly One[]>; // large work is never done at once
    work.then((result) => {
      if (source.current === objects) compiled = result;
    }, compileFailed);
  });
  return () => compiled;
}

const none: readonly never[] = [];
