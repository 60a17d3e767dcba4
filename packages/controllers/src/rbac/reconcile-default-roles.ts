import { runSync, toSyncTask } from '@cluster-apiserver/base';
import { findMissingRules, RuleSet } from '@cluster-apiserver/gates';
import type { AggregationRule, ClusterRole, ClusterRoleBinding } from '@cluster-apiserver/kinds';
import {
  decode,
  type KubeObject,
  type PolicyRule,
  rbacGroup,
  type RbacSubject,
  sameJson,
  StatusError,
} from '@cluster-apiserver/model';
import { create, deleteObject, getCached, patch, type Resource } from '@cluster-apiserver/registry';
import { type Call, CorruptValueError } from '@cluster-apiserver/storage';
import {
  autoUpdateAnnotation,
  type DefaultBinding,
  defaultBindings,
  defaultLabels,
  type DefaultRole,
  defaultRoles,
} from './default-roles.ts';

export interface DefaultRoleOptions {
  readonly clusterRoles: Resource;
  readonly clusterRoleBindings: Resource;
  readonly call: () => Call;
  readonly report: (event: DefaultRoleEvent) => void;
}

export interface DefaultRoleEvent {
  /** Protected and unreadable objects stay unchanged. */
  readonly type: 'created' | 'updated' | 'recreated' | 'protected' | 'unreadable';
  readonly kind: string;
  readonly name: string;
}

/** The writer, in managedFields. */
const manager = 'apiserver';

/** Another writer comes first now and then: all replicas may start at once. */
const triesMax = 5;

/**
 * Creates missing default roles and bindings, and adds missing rules and subjects to the others. Nothing is removed:
 * an operator may have added to them. Throws if one could not be written; the others are written all the same.
 */
export async function reconcileDefaultRoles(options: DefaultRoleOptions): Promise<void> {
  const { clusterRoles, clusterRoleBindings } = options;
  const failures: unknown[] = [];
  const attempt = async (resource: Resource, expected: KubeObject, merged: Merge): Promise<void> => {
    try {
      await reconcile(resource, expected, merged, options);
    } catch (error) {
      failures.push(error);
    }
  };
  for (const role of defaultRoles) await attempt(clusterRoles, roleOf(role), mergeRole);
  for (const binding of defaultBindings) await attempt(clusterRoleBindings, bindingOf(binding), mergeBinding);
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} default roles were not written`);
}

/** Adds the missing parts to the stored object; undefined if it has to be recreated. */
type Merge = (stored: KubeObject, expected: KubeObject) => KubeObject | undefined;

async function reconcile(
  resource: Resource,
  expected: KubeObject,
  merge: Merge,
  { call, report }: DefaultRoleOptions,
): Promise<void> {
  const name = expected.metadata.name as string; // roleOf and bindingOf give one
  const { kind } = resource.kind;
  for (let tries = 1; ; tries++) {
    try {
      const stored = getCached(resource, undefined, name)?.object;
      if (!stored) {
        await createDefault(resource, expected, call());
        return report({ type: 'created', kind, name });
      }
      const merged = merge(stored, expected);
      if (merged && sameJson(stored, merged)) return;
      if (isProtected(stored)) return report({ type: 'protected', kind, name });
      if (merged) {
        await addMissing(
          resource,
          name,
          (current) => (isProtected(current) ? current : (merge(current, expected) ?? current)),
          call(),
        );
        return report({ type: 'updated', kind, name });
      }
      await deleteObject(resource, name, { namespace: undefined, dryRun: false, preconditions: uidOf(stored) }, call());
      await createDefault(resource, expected, call());
      return report({ type: 'recreated', kind, name });
    } catch (error) {
      // It may stay so, and the replica is of use all the same.
      if (error instanceof CorruptValueError) return report({ type: 'unreadable', kind, name });
      if (tries === triesMax || !(error instanceof StatusError && races.includes(error.reason))) throw error;
      await resource.collection.waitUntilFresh(undefined, call());
    }
  }
}

/** Another replica did the same, or the object was deleted meanwhile. */
const races: readonly StatusError['reason'][] = ['AlreadyExists', 'Conflict', 'NotFound'];

const isProtected = ({ metadata }: KubeObject): boolean => metadata.annotations?.[autoUpdateAnnotation] === 'false';

const uidOf = ({ metadata: { uid } }: KubeObject) => (uid === undefined ? {} : { uid });

const writeOptions = { namespace: undefined, dryRun: false, manager, warn: () => {} };

async function createDefault(resource: Resource, { metadata, ...rest }: KubeObject, call: Call): Promise<void> {
  const { kind, apiVersion, schema } = resource.kind;
  const draft = decode(schema, { kind, apiVersion, metadata, ...rest }, () => {});
  const { revision } = await create(resource, draft, writeOptions, call);
  await resource.collection.waitUntilFresh(revision, call);
}

async function addMissing(
  resource: Resource,
  name: string,
  change: (current: KubeObject) => KubeObject,
  call: Call,
): Promise<void> {
  await patch(resource, name, { ...writeOptions, change: toSyncTask(change), unknownFields: () => {} }, call);
}

const metadataOf = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject['metadata'] => ({
  name,
  labels: { ...defaultLabels, ...labels },
  annotations: { [autoUpdateAnnotation]: 'true' },
});

const roleOf = ({ name, labels, rules, aggregatesLabel }: DefaultRole): KubeObject => ({
  metadata: metadataOf(name, labels),
  ...(rules && { rules }),
  ...(aggregatesLabel && {
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregatesLabel]: 'true' } }] },
  }),
});

const bindingOf = ({ name, subjects }: DefaultBinding): KubeObject => ({
  metadata: metadataOf(name),
  roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
  subjects,
});

/** Values of the operator take precedence. */
const mergeMetadata = (stored: KubeObject, { metadata }: KubeObject): KubeObject => ({
  ...stored,
  metadata: {
    ...stored.metadata,
    labels: { ...metadata.labels, ...stored.metadata.labels },
    annotations: { ...metadata.annotations, ...stored.metadata.annotations },
  },
});

function mergeRole(stored: KubeObject, expected: KubeObject): KubeObject {
  const [role, wanted] = [stored as ClusterRole, expected as Partial<ClusterRole>]; // decoded by the schema of the kind
  const merged = mergeMetadata(stored, expected);
  // The controller fills the rules of aggregated roles.
  if (wanted.aggregationRule)
    return { ...merged, aggregationRule: mergeAggregation(role.aggregationRule, wanted.aggregationRule) };
  const rules: readonly PolicyRule[] = role.rules ?? [];
  const held = [new RuleSet(rules)];
  const missing = (wanted.rules ?? []).filter((rule) => runSync(findMissingRules([rule], held)).missing.length > 0);
  return missing.length === 0 ? merged : { ...merged, rules: [...rules, ...missing] };
}

function mergeAggregation(stored: AggregationRule = {}, expected: AggregationRule): AggregationRule {
  const { clusterRoleSelectors: selectors = [] } = stored;
  const missing = (expected.clusterRoleSelectors ?? []).filter((one) => !selectors.some((own) => sameJson(own, one)));
  return missing.length === 0 ? stored : { ...stored, clusterRoleSelectors: [...selectors, ...missing] };
}

/** Undefined for a binding of another role, because roleRef is immutable. */
function mergeBinding(stored: KubeObject, expected: KubeObject): KubeObject | undefined {
  const [binding, wanted] = [stored as ClusterRoleBinding, expected as ClusterRoleBinding]; // as above
  if (!sameJson(binding.roleRef, wanted.roleRef)) return undefined;
  const subjects: readonly RbacSubject[] = binding.subjects ?? [];
  const missing = (wanted.subjects ?? []).filter((one) => !subjects.some((own) => sameJson(own, one)));
  const merged = mergeMetadata(stored, expected);
  return missing.length === 0 ? merged : { ...merged, subjects: [...subjects, ...missing] };
}
