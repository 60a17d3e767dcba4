import { requireValue, setOwn } from '@cluster-apiserver/base';
import { isObjectOrRawNumber } from '../json/json-object.ts';

/**
 * A set of fields, as a tree. A step down is written as in `fieldsV1`: `f:name` into a field or map entry,
 * `k:{"name":"x"}` to the list entry with that key, `v:"x"` to the entry of a set, and `.` marks that the place itself
 * belongs to the set, and not only places below it. Trees are immutable.
 */
export interface FieldSet {
  readonly member: boolean;
  readonly below: ReadonlyMap<string, FieldSet>;
}

export const emptySet: FieldSet = { member: false, below: new Map() };
/** A place with nothing below it. */
export const leaf: FieldSet = { member: true, below: new Map() };

export const isEmptySet = (set: FieldSet): boolean => !set.member && set.below.size === 0;

export const fieldStep = (name: string): string => `f:${name}`;

/** A step as people read it: `.name`, `[name="x"]`, `[="x"]`. */
export function stepText(step: string): string {
  const [kind, rest] = [step.slice(0, 2), step.slice(2)];
  if (kind === 'f:') return `.${rest}`;
  if (kind === 'v:') return `[=${rest}]`;
  if (kind === 'i:') return `[${rest}]`;
  const keys = Object.entries<unknown>(JSON.parse(rest));
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

/** The first places of a set in readable form; at each level, places come before those below others. */
export function placesOf(set: FieldSet, max = Number.POSITIVE_INFINITY): string[] {
  const steps = [...set.below].sort(byStep);
  const places: string[] = [];
  for (const [step, { member }] of steps) {
    if (places.length === max) return places;
    if (member) places.push(stepText(step));
  }
  for (const [step, below] of steps) {
    if (places.length === max) return places;
    for (const place of placesOf(below, max - places.length)) places.push(stepText(step) + place);
  }
  return places;
}

/** How many places there are below the set. */
export function countPlaces({ below }: FieldSet): number {
  let count = 0;
  for (const set of below.values()) count += countPlaces(set) + (set.member ? 1 : 0);
  return count;
}

/** A set in the making: places are added one by one, until it is given away. */
export class GrowingFieldSet implements FieldSet {
  member = false;
  #below: Map<string, GrowingFieldSet> | undefined;

  get below(): ReadonlyMap<string, FieldSet> {
    return this.#below ?? emptySet.below;
  }

  add(path: readonly string[]): void {
    path.reduce<GrowingFieldSet>((place, step) => place.#at(step), this).member = true;
  }

  addAll({ member, below }: FieldSet): void {
    if (member) this.member = true;
    for (const [step, set] of below) this.#at(step).addAll(set);
  }

  #at(step: string): GrowingFieldSet {
    // Most places have nothing below them.
    this.#below ??= new Map();
    let next = this.#below.get(step);
    if (!next) this.#below.set(step, (next = new GrowingFieldSet()));
    return next;
  }
}

/** The union of many sets, in linear time. */
export function unionOf(sets: Iterable<FieldSet>): FieldSet {
  const all = new GrowingFieldSet();
  for (const set of sets) all.addAll(set);
  return all;
}

export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(right)) return left;
  if (isEmptySet(left)) return right;
  const below = new Map(left.below);
  for (const [step, set] of right.below) {
    const other = below.get(step);
    below.set(step, other ? union(other, set) : set);
  }
  return { member: left.member || right.member, below };
}

/** The left set itself if the right one has none of its places. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) || isEmptySet(right)) return left;
  let below: Map<string, FieldSet> | undefined;
  for (const [step, set] of left.below) {
    const other = right.below.get(step);
    const rest = other ? difference(set, other) : set;
    if (rest === set) continue;
    below ??= new Map(left.below);
    if (isEmptySet(rest)) below.delete(step);
    else below.set(step, rest);
  }
  const member = left.member && !right.member;
  return below || member !== left.member ? { member, below: below ?? left.below } : left;
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) || isEmptySet(right)) return emptySet;
  const below = new Map<string, FieldSet>();
  for (const [step, set] of left.below) {
    const other = right.below.get(step);
    const both = other ? intersection(set, other) : emptySet;
    if (!isEmptySet(both)) below.set(step, both);
  }
  return { member: left.member && right.member, below };
}

/** The places that have no others below them. */
export function leavesOf({ member, below }: FieldSet): FieldSet {
  if (below.size === 0) return member ? leaf : emptySet;
  return { member: false, below: new Map([...below].map(([step, set]) => [step, leavesOf(set)])) };
}

/** The form of `fieldsV1`. Steps are sorted, so equal sets have equal JSON. */
export function toFieldsV1(set: FieldSet): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (set.member && set.below.size > 0) out['.'] = {};
  const steps = set.below.size > 1 ? [...set.below.keys()].sort() : set.below.keys();
  for (const step of steps) setOwn(out, step, toFieldsV1(requireValue(set.below.get(step))));
  return out;
}

const byStep = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : left > right ? 1 : 0;

/** The nesting depth of `fieldsV1`. The deepest known kinds have a third of it. */
export const fieldsDepthMax = 100;

/** Undefined when the value is not in the form of `fieldsV1`, or nested deeper than any kind is. */
export function fromFieldsV1(value: unknown): FieldSet | undefined {
  return fromNode(value, 0);
}

function fromNode(value: unknown, depth: number): FieldSet | undefined {
  if (!isObjectOrRawNumber(value) || depth > fieldsDepthMax) return undefined;
  let below: Map<string, FieldSet> | undefined;
  let member = false;
  for (const step in value) {
    if (step === '.') {
      member = true;
      continue;
    }
    if (!stepForm.test(step)) return undefined;
    const set = fromNode(value[step], depth + 1);
    if (!set) return undefined;
    below ??= new Map();
    below.set(step, set);
  }
  // A step that nothing is said about below is itself the place that is meant.
  if (!below) return member || depth > 0 ? leaf : emptySet;
  return { member, below };
}

/** Whether there is more nesting than fields may have; stops at the first place that has. */
export function isTooDeep(value: unknown): boolean {
  const exceeds = (node: unknown, depth: number): boolean => {
    if (typeof node !== 'object' || node === null) return false;
    if (depth > fieldsDepthMax) return true;
    for (const inner of Object.values(node)) if (exceeds(inner, depth + 1)) return true;
    return false;
  };
  return exceeds(value, 0);
}

const stepForm = /^(f:|[kv]:[{"[\-0-9tfn]|i:[0-9])/s;
