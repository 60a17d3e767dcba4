/**
 * Checks the expressions of each ValidatingAdmissionPolicy against the types of the kinds that its rules match, and writes
 * into its status what it found: once for each generation. A policy is in force whatever its status says.
 */
import { type Clock, perform, type Random } from '@cluster-apiserver/base';
import type { ValidatingAdmissionPolicy } from '@cluster-apiserver/kinds';
import { numberOf, type ServedKind } from '@cluster-apiserver/model';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { type ItemChange, textOfKey } from '@cluster-apiserver/storage';
import { followAndSync } from '../follow-and-sync.ts';
import type { ControllerMeasures } from '../measures.ts';
import { callsOf, itemsWithin, readable, readBarrier, unreadableCount } from '../memory.ts';
import { createPace } from '../pace.ts';
import { retryQueue } from '../retry-queue.ts';
import { checkTypes } from './type-check.ts';
import { writeTypeChecking } from './write-type-checking.ts';

export interface PolicyTypeCheckOptions {
  readonly resources: readonly Resource[];
  /** What clients see, in all groups and versions. */
  readonly served: readonly ServedKind[];
  readonly clock: Clock;
  readonly random: Random;
  /** For as long as this replica leads. */
  readonly signal: AbortSignal;
  readonly report: (event: PolicyTypeCheckEvent) => void;
  readonly measures: ControllerMeasures;
}

export type PolicyTypeCheckEvent =
  | { readonly type: 'checked'; readonly policy: string; readonly warnings: number }
  | { readonly type: 'failed'; readonly policy: string; readonly tries: number; readonly cause: unknown };

/** Policies at a time: a check is nothing but work for the processor. */
const workers = 1;

/** After failures, which are nearly always those of the storage. */
const pauses = { firstMs: 50, maxMs: 5_000 };

/** Checks policies until the signal aborts, and resolves when no work is running any more. */
export async function checkPolicyTypes(options: PolicyTypeCheckOptions): Promise<void> {
  const { resources, served, clock, random, signal, report, measures } = options;
  const policies = resources.find(({ kind }) => kind.kind === 'ValidatingAdmissionPolicy');
  if (!policies || signal.aborted) return;
  const call = callsOf(clock, signal);
  const pace = createPace(clock, signal);

  const check = async (key: string): Promise<void> => {
    await readBarrier(policies, call(), signal);
    const stored = readable(policies.collection.get(key));
    if (!stored) return;
    const policy = stored.object as ValidatingAdmissionPolicy; // decoded by the schema of its kind
    const generation = numberOf(policy.metadata.generation ?? 0);
    if (generation <= numberOf(policy.status.observedGeneration ?? 0)) return;
    const warnings = await perform(clock, call(), checkTypes(policy, served), true);
    await writeTypeChecking(policies, stored, { generation, warnings }, call());
    report({ type: 'checked', policy: stored.name, warnings: warnings.length });
  };
  const queue = retryQueue<string>({
    clock,
    random,
    workers,
    pauses,
    work: check,
    failed: (key, { tries, cause }) => {
      measures.retried();
      report({ type: 'failed', policy: textOfKey(key), tries, cause });
    },
    measures,
  });
  const changed = (_: Resource, { key, previous, current }: ItemChange<CachedObject>): void => {
    if (previous?.unreadable || current?.unreadable) measures.unreadable(unreadableCount([policies]));
    if (readable(current)) queue.add(key);
  };
  const sync = async (): Promise<void> => {
    measures.unreadable(unreadableCount([policies]));
    for (const { key } of itemsWithin(policies.collection.view(), '')) {
      queue.add(key);
      if (pace.isDue()) await pace.pause();
    }
  };
  try {
    await followAndSync({ resources: [policies], clock, signal, changed, sync });
  } finally {
    measures.unreadable(0);
    await queue.close();
  }
}
