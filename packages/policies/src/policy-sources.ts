import { type Clock, toSyncTask, type SyncTask } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource } from '@cluster-apiserver/registry';
import { type ActivePolicy, bindPolicies } from './bind-policies.ts';
import type { ClusterState } from './cluster-state.ts';
import { getPolicySources } from './applicable-sources.ts';
import { CompiledObjects, FollowedObjects } from './followed-objects.ts';
import type { Sources } from './active.ts';
import type { Matcher } from './matching.ts';
import type { PolicyMeasures } from './policy-measures.ts';
import { compileStaticObjects, type StaticPolicies, type StaticSource } from './static-objects.ts';

/** What evaluating policies needs besides the request. */
export interface EvaluateOptions {
  readonly cluster: ClusterState;
  readonly measures: PolicyMeasures;
  readonly clock: Clock;
}

/** Options of both policy plugins. */
export interface PolicyPluginOptions extends EvaluateOptions {
  readonly policies: Resource;
  readonly bindings: Resource;
  /** Policies from static manifests; undefined if none are configured. */
  readonly staticObjects: StaticSource<StaticPolicies> | undefined;
  /** Called for an internal error; compilation is retried. */
  readonly compileFailed: (error: unknown) => void;
}

/** A plugin that follows objects of the API until it is closed. */
export interface FollowingPlugin extends AdmissionPlugin {
  close(): void;
}

/**
 * Methods and not properties, so that TypeScript accepts implementations for one kind: objects from the API and from files
 * are decoded by the schema of theirs.
 */
interface Compile<Policy, Binding> {
  policy(object: KubeObject): SyncTask<Policy>;
  binding(object: KubeObject): Binding;
}

/** The policies of one type that have bindings, from files and from the API. */
export function openPolicySources<
  Policy extends Matcher & { readonly name: string },
  Binding extends { readonly policyName: string },
>(
  { policies, bindings, staticObjects, cluster, clock, compileFailed }: PolicyPluginOptions,
  compile: Compile<Policy, Binding>,
): Sources<ActivePolicy<Policy, Binding>> {
  const compiledPolicies = new CompiledObjects(policies, (object) => compile.policy(object));
  const compiledBindings = new CompiledObjects(
    bindings,
    toSyncTask((object: KubeObject) => compile.binding(object)),
  );
  return {
    applicableSources: getPolicySources,
    fromFiles: compileStaticObjects(staticObjects, (objects) => compileStatic(objects, compile), {
      clock,
      compileFailed,
    }),
    fromApi: new FollowedObjects({
      description: 'admission policy',
      kinds: [compiledPolicies, compiledBindings],
      combine: () => bindPolicies(compiledPolicies.current, compiledBindings.current),
      clock,
      compileFailed,
    }),
    matcherOf: ({ policy }) => policy,
    cluster,
    clock,
  };
}

function* compileStatic<Policy extends { readonly name: string }, Binding extends { readonly policyName: string }>(
  { policies, bindings }: StaticPolicies,
  compile: Compile<Policy, Binding>,
): SyncTask<readonly ActivePolicy<Policy, Binding>[]> {
  const compiled: Policy[] = [];
  for (const policy of policies) compiled.push(yield* compile.policy(policy));
  return bindPolicies(
    compiled,
    bindings.map((binding) => compile.binding(binding)),
  );
}
