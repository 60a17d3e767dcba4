import type { SyncTask } from '@cluster-apiserver/base';
import type { PolicyRule } from '@cluster-apiserver/model';
import { getWildcard, type RuleSet } from './rule-set.ts';

/** A rule with one verb for one resource or path: the smallest unit that can be granted. */
export interface SingleRule {
  readonly verbs: readonly [string];
  readonly apiGroups?: readonly [string];
  readonly resources?: readonly [string];
  readonly resourceNames?: readonly [string];
  readonly nonResourceURLs?: readonly [string];
}

export interface MissingRules {
  readonly missing: readonly SingleRule[];
  /** False if there may be more: both the response and the work are bounded. */
  readonly isComplete: boolean;
}

/** Maximum number of missing parts in a response. */
const missingMax = 1_000;

/** The parts of a rule are the product of its lists: 100 kB can have billions. Checking this many takes a second. */
const partsMax = 500_000;

const partsPerStep = 256;

/** The parts of rules that none of the held rules covers. */
export function* findMissingRules(rules: readonly PolicyRule[], held: readonly RuleSet[]): SyncTask<MissingRules> {
  const missing: SingleRule[] = [];
  let parts = 0;
  for (const rule of rules) {
    if (isCoveredByStars(rule, held)) continue;
    for (const part of splitRule(rule)) {
      if (!isCovered(part, held)) missing.push(part);
      if (missing.length === missingMax || ++parts === partsMax) return { missing, isComplete: false };
      if (parts % partsPerStep === 0) yield;
    }
  }
  return { missing, isComplete: true };
}

/** Rules for all resources and paths that a rule can name cover a rule of any size. */
function isCoveredByStars(
  { verbs = [], resources = [], nonResourceURLs = [] }: PolicyRule,
  held: readonly RuleSet[],
): boolean {
  // Validation permits resources or paths, but what is stored may have been written by another server.
  const holds = (allows: (rules: RuleSet, verb: string) => boolean): boolean =>
    verbs.every((verb) => held.some((rules) => allows(rules, verb)));
  return (
    (nonResourceURLs.length === 0 || holds((rules, verb) => rules.allowsPath(verb, '*'))) &&
    (resources.length === 0 || holds((rules, verb) => rules.allowsResource(verb, '*', '*', undefined, undefined)))
  );
}

function* splitRule(rule: PolicyRule): Generator<SingleRule, void> {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs) {
        const part: SingleRule = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (resourceNames.length === 0) yield part;
        for (const name of resourceNames) yield { ...part, resourceNames: [name] };
      }
  for (const path of nonResourceURLs) for (const verb of verbs) yield { nonResourceURLs: [path], verbs: [verb] };
}

function isCovered(part: SingleRule, held: readonly RuleSet[]): boolean {
  const [verb] = part.verbs;
  const path = part.nonResourceURLs?.[0];
  if (path !== undefined) return held.some((rules) => rules.allowsPath(verb, path));
  const resource = part.resources?.[0] ?? '';
  const slash = resource.indexOf('/');
  const wildcard = slash < 0 ? undefined : getWildcard(resource.slice(slash + 1));
  const group = part.apiGroups?.[0] ?? '';
  return held.some((rules) => rules.allowsResource(verb, group, resource, wildcard, part.resourceNames?.[0]));
}

/** In the words of kube-apiserver: one line for each resource with its verbs, sorted. */
export function describeMissing({ missing, isComplete }: MissingRules): string {
  const lines = [...mergeVerbs(missing)].map(
    ({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }) =>
      `{${[
        ...formatAttribute('APIGroups', apiGroups),
        ...formatAttribute('Resources', resources),
        ...formatAttribute('NonResourceURLs', nonResourceURLs),
        ...formatAttribute('ResourceNames', resourceNames),
        ...formatAttribute('Verbs', verbs),
      ].join(', ')}}`,
  );
  return [...new Set(lines)]
    .sort()
    .concat(isComplete ? [] : ['and more, or too many combinations to check'])
    .join('\n');
}

const formatAttribute = (name: string, values: readonly string[] | undefined): string[] =>
  values ? [`${name}:${quoteAll(values)}`] : [];

/** A list as Go prints one with `%q`. */
export const quoteAll = (values: readonly string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

/** Merges parts that differ only in their verb, unless they name an object or a path. */
function* mergeVerbs(parts: readonly SingleRule[]): Generator<PolicyRule, void> {
  const merged = new Map<string, { part: SingleRule; verbs: Set<string> }>();
  for (const part of parts) {
    if (part.resourceNames || part.nonResourceURLs) {
      yield part;
      continue;
    }
    const key = JSON.stringify([part.apiGroups, part.resources]);
    const known = merged.get(key);
    if (known) known.verbs.add(part.verbs[0]);
    else merged.set(key, { part, verbs: new Set(part.verbs) });
  }
  for (const { part, verbs } of merged.values()) yield { ...part, verbs: [...verbs] };
}
