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
export function splitCodePoints(text: string, budget: Budget): string | readonly string[] {
  return chargeFor(text, budget) ? Array.from(text) : text;
}

/** Whether the text has surrogates: then it must be split into code points, which takes longer. */
function chargeFor(text: string, budget: Budget): boolean {
  budget.charge(Math.floor(text.length / 16));
  if (!halves.test(text)) return false;
  budget.charge(Math.floor(text.length / 2));
  return true;
}

/** Converts an index of UTF-16 code units to code points. */
export const toCodePointIndex = (text: string, unit: number): number =>
  unit <= 0 ? unit : Array.from(text.slice(0, unit)).length;

/** And back. */
export const toCodeUnitIndex = (text: string, point: number): number =>
  halves.test(text) ? Array.from(text).slice(0, point).join('').length : point;
