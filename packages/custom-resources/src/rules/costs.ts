import type { Problems } from '@cluster-apiserver/model';

/** What one rule, and all rules of a schema, may cost by estimate, in kube-apiserver's units. */
const expressionCostMax = 10_000_000;
const schemaCostMax = 100_000_000;

/** The most expensive expressions that share of which in the limit is at least this are named. */
const namedCostMin = schemaCostMax / 100;
const namedMax = 4;

/** The estimated costs of the rules of a schema. */
export class EstimatedCosts {
  #total = 0;
  #highest: { readonly cost: number; readonly at: Problems }[] = [];

  add(what: 'rule' | 'messageExpression', cost: number, at: Problems): void {
    if (cost > expressionCostMax) at.forbidden(describeExcess(`estimated ${what} cost`, cost, expressionCostMax));
    this.#total += cost;
    if (cost < namedCostMin) return;
    this.#highest.push({ cost, at });
    this.#highest.sort((one, other) => other.cost - one.cost);
    this.#highest = this.#highest.slice(0, namedMax);
  }

  /** Refuses rules that cost too much together. */
  finish(schema: Problems): void {
    if (this.#total <= schemaCostMax) return;
    for (const { at } of this.#highest)
      at.forbidden('contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    schema.forbidden(describeExcess(what, this.#total, schemaCostMax));
  }
}

/** A factor close to 1 is shown with more digits, so that it does not read as 1. */
function describeExcess(what: string, cost: number, max: number): string {
  const excess = cost / max;
  const factor = excess > 100 ? 'more than 100x' : `${excess.toFixed(excess < 1.5 ? 6 : 1)}x`;
  return `${what} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
