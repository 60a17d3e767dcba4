import { requireValue, runSync, toSyncTask } from '@cluster-apiserver/base';
import { findMissingRules, RuleSet } from '@cluster-apiserver/gates';
import type { AggregationRule, ClusterRoleBinding } from '@cluster-apiserver/kinds';
import { type PolicyRule, rbacGroup, type RbacSubject, StatusError } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { create, deleteObject, getCached, patch, type Resource } from '@cluster-apiserver/registry';
import { type Call, CorruptValueError } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { requireKind } from '../object-of-kind.ts';
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
  readonly log: Log;
}

/** Protected and unreadable objects stay unchanged. */
type Result = 'unchanged' | 'created' | 'updated' | 'recreated' | 'protected' | 'unreadable';

/** The writer, in managedFields. */
const manager = 'apiserver';

/** Another writer comes first now and then: all replicas may start at once. */
const triesMax = 5;

/**
 * Creates missing default roles and bindings, and adds missing rules and subjects to the others. Nothing is removed:
 * an operator may have added to them. Throws if one could not be written; the others are written all the same.
 */
export async function reconcileDefaultRoles(options: DefaultRoleOptions): Promise<void> {
  const { clusterRoles, clusterRoleBindings, log } = options;
  const failures: unknown[] = [];
  const unreadable: string[] = [];
  const attempt = async (resource: Resource, expected: KubeObject, merge: Merge): Promise<void> => {
    const { kind } = resource.kind;
    const name = requireValue(expected.metadata.name, 'roleOf and bindingOf give a name');
    try {
      const result = await reconcile(resource, name, expected, merge, options.call);
      if (result === 'protected')
        log.warn(
          // Meaning: The stored role differs from the one of this version. Rights that the new version added are
          // missing in it.
          'default role or binding is out of date and protected by its autoupdate annotation',
          'compare it with a role of another cluster, or remove the annotation: docs/authorization.md',
          { kind, name },
        );
      else if (result === 'unreadable') unreadable.push(`${kind}/${name}`);
      else if (result !== 'unchanged') log.debug(1, 'reconciled default role or binding', { kind, name, result });
    } catch (error) {
      failures.push(error);
    }
  };
  for (const role of defaultRoles) {
    const expected = roleOf(role);
    await attempt(clusterRoles, expected, (stored) => mergeRole(stored, expected));
  }
  for (const binding of defaultBindings) {
    const expected = bindingOf(binding);
    await attempt(clusterRoleBindings, expected, (stored) => mergeBinding(stored, expected));
  }
  // With a wrong key all of them are.
  if (unreadable.length > 0)
    log.warn(
      // Meaning: They cannot be decrypted. Users and controllers without other roles get 403.
      'default roles or bindings unreadable; they grant nothing until they are repaired or deleted',
      'configure the key that encrypted them, --encryption-provider-config: docs/encryption.md',
      {
        count: unreadable.length,
        first: unreadable[0],
      },
    );
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} default roles were not written`);
}

/** Adds the missing parts to the stored object; undefined if it has to be recreated. */
type Merge = (stored: KubeObject) => KubeObject | undefined;

async function reconcile(
  resource: Resource,
  name: string,
  expected: KubeObject,
  merge: Merge,
  call: () => Call,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      const stored = getCached(resource, undefined, name)?.object;
      if (!stored) {
        await createDefault(resource, expected, call());
        return 'created';
      }
      const merged = merge(stored);
      if (merged && sameJson(stored, merged)) return 'unchanged';
      if (isProtected(stored)) return 'protected';
      if (merged) {
        await addMissing(
          resource,
          name,
          (current) => (isProtected(current) ? current : (merge(current) ?? current)),
          call(),
        );
        return 'updated';
      }
      await deleteObject(resource, name, { namespace: undefined, dryRun: false, preconditions: uidOf(stored) }, call());
      await createDefault(resource, expected, call());
      return 'recreated';
    } catch (error) {
      // It may stay so, and the replica is of use all the same.
      if (error instanceof CorruptValueError) return 'unreadable';
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
  const decoded = decode(schema, { kind, apiVersion, metadata, ...rest }, () => {});
  const { revision } = await create(resource, { ...decoded, metadata }, writeOptions, call);
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

interface ExpectedRole extends KubeObject {
  readonly rules?: readonly PolicyRule[];
  readonly aggregationRule?: AggregationRule;
}

const roleOf = ({ name, labels, rules, aggregatesLabel }: DefaultRole): ExpectedRole => ({
  metadata: metadataOf(name, labels),
  ...(rules && { rules }),
  ...(aggregatesLabel && {
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregatesLabel]: 'true' } }] },
  }),
});

interface ExpectedBinding extends KubeObject {
  readonly roleRef: ClusterRoleBinding['roleRef'];
  readonly subjects: readonly RbacSubject[];
}

const bindingOf = ({ name, subjects }: DefaultBinding): ExpectedBinding => ({
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

function mergeRole(stored: KubeObject, expected: ExpectedRole): KubeObject {
  const role = requireKind(stored, 'ClusterRole');
  const merged = mergeMetadata(stored, expected);
  // The controller fills the rules of aggregated roles.
  if (expected.aggregationRule)
    return { ...merged, aggregationRule: mergeAggregation(role.aggregationRule, expected.aggregationRule) };
  const rules: readonly PolicyRule[] = role.rules ?? [];
  const held = [new RuleSet(rules)];
  const missing = (expected.rules ?? []).filter((rule) => runSync(findMissingRules([rule], held)).missing.length > 0);
  return missing.length === 0 ? merged : { ...merged, rules: [...rules, ...missing] };
}

function mergeAggregation(stored: AggregationRule = {}, expected: AggregationRule): AggregationRule {
  const { clusterRoleSelectors: selectors = [] } = stored;
  const missing = (expected.clusterRoleSelectors ?? []).filter((one) => !selectors.some((own) => sameJson(own, one)));
  return missing.length === 0 ? stored : { ...stored, clusterRoleSelectors: [...selectors, ...missing] };
}

/** Undefined for a binding of another role, because roleRef is immutable. */
function mergeBinding(stored: KubeObject, expected: ExpectedBinding): KubeObject | undefined {
  const binding = requireKind(stored, 'ClusterRoleBinding');
  if (!sameJson(binding.roleRef, expected.roleRef)) return undefined;
  const subjects: readonly RbacSubject[] = binding.subjects ?? [];
  const missing = (expected.subjects ?? []).filter((one) => !subjects.some((own) => sameJson(own, one)));
  const merged = mergeMetadata(stored, expected);
  return missing.length === 0 ? merged : { ...merged, subjects: [...subjects, ...missing] };
}
