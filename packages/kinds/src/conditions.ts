interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly lastTransitionTime?: string | null;
}

/** With what was found just now. A condition keeps its place, and its time as long as its status stays. */
export function withCondition<T extends Condition>(conditions: readonly T[] | null | undefined, finding: T): T[] {
  const before = conditions?.find(({ type }) => type === finding.type);
  if (!before) return [...(conditions ?? []), finding];
  const isSame = before.status === finding.status && before.lastTransitionTime;
  const next = { ...before, ...finding, ...(isSame && { lastTransitionTime: before.lastTransitionTime }) };
  return (conditions ?? []).map((condition) => (condition === before ? next : condition));
}

/** The conditions of other types: the same ones if there is none of this type. */
export const withoutCondition = <T extends Condition>(conditions: T[] | null, type: string): T[] | null =>
  conditions?.some((one) => one.type === type) ? conditions.filter((one) => one.type !== type) : conditions;
