import { type Attempt, type Entry, type Living, type Outcome, type Refusal, textOf } from './history.ts';
import { isWrite, refusalOf } from './write-semantics.ts';
import type { Span } from './real-time-order.ts';

export interface Spans {
  /**
   * Where in the log an answer is true, in order. Undefined for an answer that tells of no state, or of one that the
   * write itself stands for.
   */
  fitting(attempt: Attempt): Span[] | undefined;
}

/** How long each state of each object lasted, counted in entries of the log: position 0 is before the first. */
export function spansOf(log: readonly Entry[]): Spans {
  const byName = new Map<string, Life[]>();
  log.forEach(({ name, revision, state }, index) => {
    const lives = livesOf(byName, name);
    const last = lives.at(-1);
    if (last) last.end = index + 1;
    lives.push({ begin: index + 1, end: log.length + 1, living: state && { revision, state } });
  });
  const where = (name: string, fact: (life: Life) => boolean): Span[] =>
    livesOf(byName, name, log.length + 1).filter(fact);

  return {
    fitting: ({ action, outcome }) => {
      if (action.verb === 'list') {
        if (outcome.told !== 'listed') return undefined;
        const position = positionOf(log, outcome.revision);
        const listed = action.namespace === undefined ? '' : `${action.namespace}/`;
        return isTrueAt(byName, listed, position, outcome.items) ? [{ begin: position, end: position + 1 }] : [];
      }
      if (outcome.told === 'found') {
        const found = textOf(outcome.state);
        return where(
          action.name,
          ({ living }) => living?.revision === outcome.revision && textOf(living.state) === found,
        );
      }
      if (!isWrite(action)) return outcome.told === 'absent' ? where(action.name, ({ living }) => !living) : undefined;
      if (!isRefusal(outcome)) return undefined;
      return where(action.name, ({ living }) => isSame(refusalOf(action, living), outcome));
    },
  };
}

const refusals: readonly Outcome['told'][] = [
  'absent',
  'exists',
  'conflict',
  'owned',
  'failed',
] satisfies Refusal['told'][];
const isRefusal = (outcome: Outcome): outcome is Refusal => refusals.includes(outcome.told);

const isSame = (one: Refusal | undefined, other: Refusal): boolean =>
  one?.told === other.told && placesIn(one) === placesIn(other);
const placesIn = (refusal: Refusal): string => ('places' in refusal ? refusal.places.join() : '');

interface Life {
  readonly begin: number;
  end: number;
  /** Undefined when the object was not there. */
  readonly living: Living | undefined;
}

/** Every object begins by not being there. */
function livesOf(byName: Map<string, Life[]>, name: string, end = 0): Life[] {
  let lives = byName.get(name);
  if (!lives) byName.set(name, (lives = [{ begin: 0, end, living: undefined }]));
  return lives;
}

/** Behind the last entry that is not newer. */
function positionOf(log: readonly Entry[], revision: number): number {
  const newer = log.findIndex((entry) => entry.revision > revision);
  return newer < 0 ? log.length : newer;
}

function isTrueAt(
  byName: ReadonlyMap<string, readonly Life[]>,
  listed: string,
  position: number,
  items: ReadonlyMap<string, number>,
): boolean {
  let found = 0;
  for (const [name, lives] of byName) {
    if (!name.startsWith(listed)) continue;
    const life = lives.find(({ begin, end }) => begin <= position && position < end);
    if (!life?.living) continue;
    if (items.get(name) !== life.living.revision) return false;
    found += 1;
  }
  return found === items.size;
}
