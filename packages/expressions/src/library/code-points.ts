import type { Budget } from '../run/budget.ts';

/**
 * Texts are counted and cut by code points. JavaScript counts halves of the rarer ones, which makes no difference as
 * long as there are none.
 */
const halves = /[\ud800-\udfff]/;

export function lengthOf(text: string, budget: Budget): number {
  return chargeFor(text, budget) ? Array.from(text).length : text.length;
}

/** Something that can be indexed and sliced by code points. */
export function pointsOf(text: string, budget: Budget): string | readonly string[] {
  return chargeFor(text, budget) ? Array.from(text) : text;
}

/** Whether it has halves: each of its characters becomes a text of its own then, which takes longer. */
function chargeFor(text: string, budget: Budget): boolean {
  budget.charge(text.length >> 4);
  if (!halves.test(text)) return false;
  budget.charge(text.length >> 1);
  return true;
}

/** Where a unit of the text stands in code points. */
export const pointAt = (text: string, unit: number): number =>
  unit <= 0 ? unit : Array.from(text.slice(0, unit)).length;

/** And back. */
export const unitAt = (text: string, point: number): number =>
  halves.test(text) ? Array.from(text).slice(0, point).join('').length : point;
