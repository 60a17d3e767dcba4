import {
  type Operation,
  type Entry,
  type StoredVersion,
  type Outcome,
  type Refusal,
  canonicalText,
} from './history.ts';
import { isWrite, refusalOf } from './write-semantics.ts';
import type { Interval } from './real-time-order.ts';

export interface ValidIntervals {
  /**
   * The intervals of the log in which the outcome is true, in order. Undefined for outcomes without a state, and for
   * writes that their own entry represents.
   */
  intervalsOf(operation: Operation): Interval[] | undefined;
}

/** Indexes the lifetime of each version of each object, in log positions: position 0 is before the first entry. */
export function indexIntervals(log: readonly Entry[]): ValidIntervals {
  const byName = new Map<string, VersionLifetime[]>();
  log.forEach(({ name, revision, state }, index) => {
    const lives = lifetimesOf(byName, name);
    const last = lives.at(-1);
    if (last) last.end = index + 1;
    lives.push({ begin: index + 1, end: log.length + 1, version: state && { revision, state } });
  });
  const where = (name: string, fact: (life: VersionLifetime) => boolean): Interval[] =>
    lifetimesOf(byName, name, log.length + 1).filter(fact);

  return {
    intervalsOf: ({ action, outcome }) => {
      if (action.verb === 'list') {
        if (outcome.result !== 'listed') return undefined;
        const position = positionOf(log, outcome.revision);
        return isTrueAt(byName, action.within, position, outcome.items) ? [{ begin: position, end: position + 1 }] : [];
      }
      if (outcome.result === 'found') {
        const found = canonicalText(outcome.state);
        return where(
          action.name,
          ({ version: living }) => living?.revision === outcome.revision && canonicalText(living.state) === found,
        );
      }
      if (!isWrite(action))
        return outcome.result === 'absent' ? where(action.name, ({ version: living }) => !living) : undefined;
      if (!isRefusal(outcome)) return undefined;
      return where(action.name, ({ version: living }) => isSame(refusalOf(action, living), outcome));
    },
  };
}

const refusals: readonly Outcome['result'][] = [
  'absent',
  'exists',
  'conflict',
  'owned',
  'failed',
] satisfies Refusal['result'][];
const isRefusal = (outcome: Outcome): outcome is Refusal => refusals.includes(outcome.result);

const isSame = (one: Refusal | undefined, other: Refusal): boolean =>
  one?.result === other.result && placesIn(one) === placesIn(other);
const placesIn = (refusal: Refusal): string => ('places' in refusal ? refusal.places.join() : '');

interface VersionLifetime {
  readonly begin: number;
  end: number;
  /** Undefined while the object does not exist. */
  readonly version: StoredVersion | undefined;
}

/** Every object starts as missing. */
function lifetimesOf(byName: Map<string, VersionLifetime[]>, name: string, end = 0): VersionLifetime[] {
  let lives = byName.get(name);
  if (!lives) byName.set(name, (lives = [{ begin: 0, end, version: undefined }]));
  return lives;
}

/** The position after the last entry that is not newer. */
function positionOf(log: readonly Entry[], revision: number): number {
  const newer = log.findIndex((entry) => entry.revision > revision);
  return newer < 0 ? log.length : newer;
}

function isTrueAt(
  byName: ReadonlyMap<string, readonly VersionLifetime[]>,
  listed: string,
  position: number,
  items: ReadonlyMap<string, number>,
): boolean {
  let found = 0;
  for (const [name, lives] of byName) {
    if (!name.startsWith(listed)) continue;
    const life = lives.find(({ begin, end }) => begin <= position && position < end);
    if (!life?.version) continue;
    if (items.get(name) !== life.version.revision) return false;
    found += 1;
  }
  return found === items.size;
}
