import { runSync, type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { Problems } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';

/** Suffix of the names of objects from files, reserved for these. */
export const staticSuffix = '.static.k8s.io';

/** Policies of one type and their bindings, from files. Immutable: a change creates a new object. */
export interface StaticPolicies {
  readonly policies: readonly KubeObject[];
  readonly bindings: readonly KubeObject[];
}

/** Problems by object. */
export type StaticProblems = ReadonlyMap<KubeObject, Problems>;

const unsupported = 'not supported for static manifests';

/**
 * Policies from files must not have parameters, and their bindings must refer to policies from files. `hasPolicy` is also
 * true for the names of invalid policies, which have problems of their own.
 */
export function findStaticPolicyProblems(
  { policies, bindings }: StaticPolicies,
  hasPolicy: (name: string) => boolean,
): StaticProblems {
  return new Map([
    ...policies.map((policy) => [policy, findPolicyProblems(policy as PolicyOrBinding)] as const),
    ...bindings.map((binding) => [binding, findBindingProblems(binding as PolicyOrBinding, hasPolicy)] as const),
  ]);
}

type PolicyOrBinding = KubeObject & {
  readonly spec?: { readonly paramKind?: object; readonly paramRef?: object; readonly policyName?: string };
};

function findPolicyProblems({ spec = {} }: PolicyOrBinding): Problems {
  const problems = new Problems();
  if (spec.paramKind) problems.at('spec', 'paramKind').forbidden(unsupported);
  return problems;
}

function findBindingProblems({ spec = {} }: PolicyOrBinding, hasPolicy: (name: string) => boolean): Problems {
  const { paramRef, policyName = '' } = spec;
  const problems = new Problems();
  if (paramRef) problems.at('spec', 'paramRef').forbidden(unsupported);
  const at = problems.at('spec', 'policyName');
  if (!policyName.endsWith(staticSuffix)) at.invalid(policyName, `must end with ${JSON.stringify(staticSuffix)}`);
  else if (!hasPolicy(policyName)) at.invalid(policyName, 'there is no such policy in the directory');
  return problems;
}

/** As in kube-apiserver, webhooks from files must not refer to services: these may not exist yet. */
export const findStaticWebhookProblems = (configurations: readonly KubeObject[]): StaticProblems =>
  new Map(configurations.map((one) => [one, findWebhookProblems(one as WebhooksOfFile)]));

type WebhooksOfFile = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly service?: object } }[];
};

function findWebhookProblems({ webhooks = [] }: WebhooksOfFile): Problems {
  const problems = new Problems();
  problems.at('webhooks').each(webhooks, ({ clientConfig }, at) => {
    if (clientConfig?.service) at.at('clientConfig', 'service').forbidden(`${unsupported}; use url`);
  });
  return problems;
}

/** The current objects of files. */
export interface StaticSource<Objects> {
  readonly current: Objects;
  onChange(listener: () => void): void;
}

/**
 * Compiles objects from files: the first ones synchronously, before the server starts to serve; later ones in steps in the
 * background, while the previous ones stay active.
 */
export function compileStaticObjects<Objects, One>(
  source: StaticSource<Objects> | undefined,
  compile: (objects: Objects) => SyncTask<readonly One[]>,
  { clock, compileFailed }: { readonly clock: Clock; readonly compileFailed: (error: unknown) => void },
): () => readonly One[] {
  if (!source) return () => none;
  let compiled = runSync(compile(source.current));
  source.onChange(() => {
    const objects = source.current;
    runTask(clock, undefined, compile(objects), true).then((result) => {
      if (source.current === objects) compiled = result;
    }, compileFailed);
  });
  return () => compiled;
}

const none: readonly never[] = [];
