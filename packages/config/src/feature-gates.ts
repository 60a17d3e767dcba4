/** Features that are not generally available, with their defaults; `--feature-gates=Name=true` overrides them. */
const gates = [
  /** `ignoreStoreReadErrorWithClusterBreakingPotential` deletes unreadable objects. */
  { name: 'AllowUnsafeMalformedObjectDeletion', stage: 'alpha', byDefault: false },
  /** `shardSelector` on lists, watches and collection deletes. */
  { name: 'ShardedListAndWatch', stage: 'alpha', byDefault: false },
] as const;

export type FeatureGate = (typeof gates)[number]['name'];

export interface FeatureGates {
  readonly enabled: (gate: FeatureGate) => boolean;
  readonly all: readonly { readonly name: FeatureGate; readonly stage: string; readonly enabled: boolean }[];
}

const groups = { AllAlpha: 'alpha', AllBeta: 'beta' } as const;

/** Applies the value of `--feature-gates`; `faults` are its problems. */
export function parseFeatureGates(given: ReadonlyMap<string, string>): {
  readonly gates: FeatureGates;
  readonly faults: readonly string[];
} {
  const faults: string[] = [];
  const known: readonly string[] = [...gates.map(({ name }) => name), ...Object.keys(groups)];
  for (const [name, value] of given) {
    if (!known.includes(name)) faults.push(`unrecognized feature gate: ${name}; there are ${known.join(', ')}`);
    else if (value !== 'true' && value !== 'false')
      faults.push(`invalid value of feature gate ${name}: ${JSON.stringify(value)} is neither true nor false`);
  }
  const ofGroup = (stage: string): string | undefined =>
    Object.entries(groups).flatMap(([group, of]) => (of === stage ? (given.get(group) ?? []) : []))[0];
  const all = gates.map(({ name, stage, byDefault }) => {
    const value = given.get(name) ?? ofGroup(stage);
    return { name, stage, enabled: value === undefined ? byDefault : value === 'true' };
  });
  const enabled = new Set(all.flatMap((gate) => (gate.enabled ? gate.name : [])));
  return { gates: { enabled: (gate) => enabled.has(gate), all }, faults };
}
