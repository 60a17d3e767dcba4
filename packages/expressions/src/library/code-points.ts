import type { Budget } from '../run/budget.ts';

/**
 * Texts are counted and cut by code points. JavaScript counts halves of the rarer ones, which makes no difference as
 * long as there are none.
 */
const halves = /[\ud800-\udfff]/;

export function lengthOf(text: string, budget: Budget): number {
  budget.charge(text.length >> 4);
  return halves.test(text) ? Array.from(text).length : text.length;
}

/** Something that can be indexed and sliced by code points. */
export function pointsOf(text: string, budget: Budget): string | readonly string[] {
  budget.charge(text.length >> 4);
  return halves.test(text) ? Array.from(text) : text;
}

/** Where a unit of the text stands in code points. */
export const pointAt = (text: string, unit: number): number =>
  unit <= 0 ? unit : Array.from(text.slice(0, unit)).length;

/** And back. */
export const unitAt = (text: string, point: number): number =>
  halves.test(text) ? Array.from(text).slice(0, point).join('').length : point;
