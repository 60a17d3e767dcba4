import { type Clock, turnsOf } from '@cluster-apiserver/base';
import { hasMoreValues } from '@cluster-apiserver/model';

/** Goes on with a value, or with what a promise resolves to. */
export type Then = <A, B>(value: A | Promise<A>, step: (value: A) => B | Promise<B>) => B | Promise<B>;

/** A step of a write takes microseconds for each value: for so many, a few milliseconds. */
const largeValuesMin = 2_000;

const isLarge = (object: object): boolean => hasMoreValues(object, largeValuesMin);

/**
 * How the steps of a write follow one another: at once, or each in a turn of the event loop of its own where an object is
 * so large that together they would hold up everybody else.
 */
export const thenFor = (clock: Clock, ...objects: readonly object[]): Then =>
  objects.some(isLarge) ? inTurns(clock) : atOnce;

const atOnce: Then = (value, step) => (value instanceof Promise ? value.then(step) : step(value));

const inTurns =
  (clock: Clock): Then =>
  async (value, step) => {
    const found = await value;
    return turnsOf(clock).take(() => step(found));
  };
