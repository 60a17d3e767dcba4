/** Features that are not generally available, with their defaults; `--feature-gates=Name=true` overrides them. */
const gates = {
  /** `ignoreStoreReadErrorWithClusterBreakingPotential` deletes unreadable objects. */
  AllowUnsafeMalformedObjectDeletion: { stage: 'alpha', enabled: false },
  /** `shardSelector` on lists, watches and collection deletes. */
  ShardedListAndWatch: { stage: 'alpha', enabled: false },
} as const;

export type FeatureGate = keyof typeof gates;

export interface FeatureGates {
  enabled(gate: FeatureGate): boolean;
  readonly all: readonly { readonly name: FeatureGate; readonly stage: string; readonly enabled: boolean }[];
}

const groups = { AllAlpha: 'alpha', AllBeta: 'beta' } as const;

/** Applies the value of `--feature-gates`; `faults` are its problems. */
export function parseFeatureGates(given: ReadonlyMap<string, string>): {
  readonly gates: FeatureGates;
  readonly faults: readonly string[];
} {
  const faults: string[] = [];
  const known = [...Object.keys(gates), ...Object.keys(groups)];
  for (const [name, value] of given) {
    if (!known.includes(name)) faults.push(`unrecognized feature gate: ${name}; there are ${known.join(', ')}`);
    else if (value !== 'true' && value !== 'false')
      faults.push(`invalid value of feature gate ${name}: ${JSON.stringify(value)} is neither true nor false`);
  }
  const ofGroup = (stage: string): string | undefined =>
    Object.entries(groups).flatMap(([group, of]) => (of === stage ? (given.get(group) ?? []) : []))[0];
  const enabled = (gate: FeatureGate): boolean => {
    const { stage, enabled: byDefault } = gates[gate];
    const said = given.get(gate) ?? ofGroup(stage);
    return said === undefined ? byDefault : said === 'true';
  };
  const all = (Object.keys(gates) as FeatureGate[]).map((name) => ({
    name,
    stage: gates[name].stage,
    enabled: enabled(name),
  }));
  return { gates: { enabled, all }, faults };
}
