/**
 * Fills the rules of ClusterRoles that have an aggregationRule with those of the ClusterRoles that it selects.
 *
 * Aggregated roles are few, so a change of any role is matched with the selectors of each of them, by the labels in the
 * watch cache and without parsing. The rules of a role are computed from memory after a read barrier. A role that is
 * itself aggregated into another one causes the next change, until all rules are up to date.
 */
import type { AggregationRule } from '@cluster-apiserver/kinds';
import { type PolicyRule, rbacGroup } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { matcherOfField } from '@cluster-apiserver/model/selector';
import { type CachedObject, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { applyFields } from '../change-object.ts';
import { itemsWithin, readable, readBarrier, unreadableCount } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerContext, type ControllerOptions, type Reconciler, runController } from '../run-controller.ts';

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'clusterrole-aggregation-controller';

/** Roles at a time. More would write the same cascade several times. */
const workers = 1;

/** Aggregates until the signal aborts, and resolves when no work is running any more. */
export async function aggregateClusterRoles(options: ControllerOptions): Promise<void> {
  const { api, signal } = options;
  const clusterRoles = api.byGroupKind(rbacGroup, 'ClusterRole');
  if (!clusterRoles || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: clusterRoles,
    start: (context) => aggregator(options, clusterRoles, context),
  });
}

function aggregator(
  { signal, log }: ControllerOptions,
  clusterRoles: Resource,
  { enqueue, forEachKey, call, pace }: ControllerContext,
): Reconciler {
  /** The aggregated roles, by their keys, with the roles that each selects. */
  const aggregated = new Map<string, readonly Matches[]>();

  /** Whether the role is aggregated. */
  const noteRole = (key: string, item: CachedObject | undefined): boolean => {
    const role = readable(item);
    const rule = role && aggregationRuleOf(role);
    if (rule) aggregated.set(key, (rule.clusterRoleSelectors ?? []).map(matcherOfField));
    // An unreadable role is noted again once it can be read.
    else aggregated.delete(key);
    return rule !== undefined;
  };
  return {
    reconcile: async (key) => {
      await readBarrier([clusterRoles], call(), signal);
      const role = readable(clusterRoles.collection.get(key));
      const selectors = role && aggregated.get(key);
      if (!role || !selectors) return;
      const rules = new DistinctRules();
      for (const matches of selectors)
        for (const item of itemsWithin(clusterRoles.collection.view(), '')) {
          if (pace.isDue()) await pace.pause();
          if (!item.unreadable && item.key !== key && matches(item.labels ?? {})) rules.add(rulesOf(item));
        }
      const current = rulesOf(role);
      // An unreadable role may be selected, and its rules must not be lost meanwhile.
      if (unreadableCount(clusterRoles) > 0) rules.add(current);
      if (sameJson(rules.all, current)) return;
      await applyFields(clusterRoles, role, { manager, fields: { rules: rules.all } }, call());
      log.debug(2, 'wrote the rules of an aggregated ClusterRole', {
        clusterRole: role.name,
        rules: rules.all.length,
      });
    },
    changed: (_, { key, previous, current }) => {
      if (noteRole(key, current)) enqueue(key);
      // While it was unreadable, no role has lost rules.
      const wasUnreadable = previous?.unreadable !== undefined;
      for (const [own, selectors] of aggregated) {
        const isConcerned = wasUnreadable || [previous, current].some((item) => isSelected(readable(item), selectors));
        if (own !== key && isConcerned) enqueue(own);
      }
    },
    sync: async () => {
      aggregated.clear();
      await forEachKey((key) => noteRole(key, clusterRoles.collection.get(key)));
      for (const key of aggregated.keys()) enqueue(key);
    },
  };
}

type Matches = (labels: Readonly<Record<string, string>>) => boolean;

const isSelected = (role: StoredObject | undefined, selectors: readonly Matches[]): boolean =>
  role !== undefined && selectors.some((matches) => matches(role.labels ?? {}));

/** Searching the text is much cheaper than parsing every role. */
function aggregationRuleOf(role: StoredObject): AggregationRule | undefined {
  if (!role.json.includes('"aggregationRule":')) return undefined;
  return requireKind(role.object, 'ClusterRole').aggregationRule;
}

const rulesOf = (role: StoredObject): readonly PolicyRule[] => requireKind(role.object, 'ClusterRole').rules ?? [];

/** Rules in the order in which they were added, each once. */
class DistinctRules {
  readonly all: PolicyRule[] = [];
  readonly #known = new Set<string>();

  add(rules: readonly PolicyRule[]): void {
    for (const rule of rules) {
      const text = JSON.stringify(rule); // canonical, so equal ones have equal texts
      if (!this.#known.has(text)) this.all.push(rule);
      this.#known.add(text);
    }
  }
}
