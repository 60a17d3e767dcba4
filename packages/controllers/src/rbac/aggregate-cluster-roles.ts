/**
 * Fills the rules of ClusterRoles that have an aggregationRule with those of the ClusterRoles that it selects.
 *
 * Aggregated roles are few, so a change of any role asks each of them whether it selects that role, by the labels of the
 * watch cache; nothing is parsed for it. What a role becomes is computed from memory after a read barrier. A role that
 * is itself aggregated into another one brings the next change about, until nothing changes any more.
 */
import type { Clock, Random } from '@cluster-apiserver/base';
import type { AggregationRule, ClusterRole } from '@cluster-apiserver/kinds';
import { matcherOfField, type PolicyRule, rbacGroup, sameJson } from '@cluster-apiserver/model';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { type ItemChange, textOfKey } from '@cluster-apiserver/storage';
import { followAndSync } from '../follow-and-sync.ts';
import type { ControllerMeasures } from '../measures.ts';
import { callsOf, itemsWithin, readable, readBarrier, unreadableCount } from '../memory.ts';
import { createPace } from '../pace.ts';
import { retryQueue } from '../retry-queue.ts';
import { writeRules } from './write-rules.ts';

export interface ClusterRoleAggregationOptions {
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly random: Random;
  /** For as long as this replica leads. */
  readonly signal: AbortSignal;
  readonly report: (event: ClusterRoleAggregationEvent) => void;
  readonly measures: ControllerMeasures;
}

export type ClusterRoleAggregationEvent =
  | { readonly type: 'aggregated'; readonly clusterRole: string; readonly rules: number }
  | { readonly type: 'failed'; readonly clusterRole: string; readonly tries: number; readonly cause: unknown };

/** Roles at a time. More would write the same cascade several times. */
const workers = 1;

/** After failures, which are nearly always those of the storage. */
const pauses = { firstMs: 50, maxMs: 5_000 };

/** Aggregates until the signal aborts, and resolves when no work is running any more. */
export async function aggregateClusterRoles(options: ClusterRoleAggregationOptions): Promise<void> {
  const { resources, clock, random, signal, report, measures } = options;
  const clusterRoles = resources.find(({ kind }) => kind.group === rbacGroup && kind.kind === 'ClusterRole');
  if (!clusterRoles || signal.aborted) return;
  const call = callsOf(clock, signal);
  const pace = createPace(clock, signal);

  /** The aggregated roles, by their keys, with what they select. */
  const aggregated = new Map<string, readonly Matches[]>();

  const aggregate = async (key: string): Promise<void> => {
    await readBarrier(clusterRoles, call(), signal);
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
    // Which roles an unreadable one belongs to is not known, and nobody shall lose rights with it.
    if (unreadableCount([clusterRoles]) > 0) rules.add(current);
    if (sameJson(rules.all, current)) return;
    await writeRules(clusterRoles, role, rules.all, call());
    report({ type: 'aggregated', clusterRole: role.name, rules: rules.all.length });
  };
  const queue = retryQueue<string>({
    clock,
    random,
    workers,
    pauses,
    work: aggregate,
    failed: (key, { tries, cause }) => {
      measures.retried();
      report({ type: 'failed', clusterRole: textOfKey(key), tries, cause });
    },
    measures,
  });

  /** Whether the role is aggregated. */
  const note = (key: string, item: CachedObject | undefined): boolean => {
    const role = readable(item);
    const rule = role && aggregationRuleOf(role);
    if (rule) aggregated.set(key, (rule.clusterRoleSelectors ?? []).map(matcherOfField));
    // One that cannot be read for now is looked at again when it can.
    else aggregated.delete(key);
    return rule !== undefined;
  };
  const changed = (_: Resource, { key, previous, current }: ItemChange<CachedObject>): void => {
    if (previous?.unreadable || current?.unreadable) measures.unreadable(unreadableCount([clusterRoles]));
    if (note(key, current)) queue.add(key);
    for (const [own, selectors] of aggregated)
      if (own !== key && [previous, current].some((item) => isSelected(readable(item), selectors))) queue.add(own);
  };
  const sync = async (): Promise<void> => {
    measures.unreadable(unreadableCount([clusterRoles]));
    aggregated.clear();
    for (const { key } of itemsWithin(clusterRoles.collection.view(), '')) {
      note(key, clusterRoles.collection.get(key));
      if (pace.isDue()) await pace.pause();
    }
    for (const key of aggregated.keys()) queue.add(key);
  };
  try {
    await followAndSync({ resources: [clusterRoles], clock, signal, changed, sync });
  } finally {
    measures.unreadable(0);
    await queue.close();
  }
}

type Matches = (labels: Readonly<Record<string, string>>) => boolean;

const isSelected = (role: StoredObject | undefined, selectors: readonly Matches[]): boolean =>
  role !== undefined && selectors.some((matches) => matches(role.labels ?? {}));

/** Parsing every role would cost much more than this look at its text. */
function aggregationRuleOf(role: StoredObject): AggregationRule | undefined {
  if (!role.json.includes('"aggregationRule":')) return undefined;
  return (role.object as ClusterRole).aggregationRule; // decoded by the schema of its kind
}

const rulesOf = (role: StoredObject): readonly PolicyRule[] => (role.object as ClusterRole).rules ?? []; // as above

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
