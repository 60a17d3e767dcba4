import { type Attempt, attemptAnnotation, type Entry, type State } from './history.ts';
import type { Span } from './order.ts';

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
    lives.push({ begin: index + 1, end: log.length + 1, revision, state });
  });
  const where = (name: string, fact: (life: Life) => boolean): Span[] =>
    livesOf(byName, name, log.length + 1).filter(fact);
  const present = ({ state }: Life): boolean => state !== undefined;

  return {
    fitting: ({ action, outcome }) => {
      if (action.verb === 'list') {
        if (outcome.told !== 'listed') return undefined;
        const position = positionOf(log, outcome.revision);
        const listed = action.namespace === undefined ? '' : `${action.namespace}/`;
        return isTrueAt(byName, listed, position, outcome.items) ? [{ begin: position, end: position + 1 }] : [];
      }
      const { name } = action;
      switch (outcome.told) {
        case 'found':
          return where(
            name,
            (life) =>
              life.revision === outcome.revision && life.state?.annotations[attemptAnnotation] === outcome.attempt,
          );
        case 'absent':
          return where(name, ({ state }) => state === undefined);
        case 'exists':
          return where(name, present);
        case 'conflict': {
          const expected = action.verb === 'replace' ? action.expected : undefined;
          return expected === undefined ? [] : where(name, (life) => present(life) && life.revision !== expected);
        }
        default:
          return undefined;
      }
    },
  };
}

interface Life {
  readonly begin: number;
  end: number;
  readonly revision: number;
  readonly state: State | undefined;
}

/** Every object begins by not being there. */
function livesOf(byName: Map<string, Life[]>, name: string, end = 0): Life[] {
  let lives = byName.get(name);
  if (!lives) byName.set(name, (lives = [{ begin: 0, end, revision: 0, state: undefined }]));
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
    if (!life?.state) continue;
    if (items.get(name) !== life.revision) return false;
    found += 1;
  }
  return found === items.size;
}
