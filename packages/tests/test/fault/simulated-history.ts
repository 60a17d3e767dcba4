import { type Random, seededRandom } from '@cluster-apiserver/base';
import {
  type Operation,
  applyIdPath,
  operationIdPath,
  counterPath,
  type Entry,
  type StoredVersion,
  type Outcome,
  type Values,
  type Write,
} from './history.ts';
import { refusalOf, resultOf } from './write-semantics.ts';

export interface SimulatedHistory {
  readonly history: Operation[];
  readonly log: Entry[];
}

export interface SimulationOptions {
  readonly turns?: number;
  readonly names?: readonly string[];
}

export const unanswered: Outcome = { result: 'no response', why: 'reset', connectedMs: 0 };

/**
 * Simulates a sequential store that executes each operation between invocation and response, so its history is correct.
 */
export function simulateHistory(
  seed: number,
  { turns = 240, names = ['a', 'b', 'c'] }: SimulationOptions = {},
): SimulatedHistory {
  const random = seededRandom(seed);
  const history: Operation[] = [];
  const log: Entry[] = [];
  const objects = new Map<string, StoredVersion>();
  let revision = 1;
  const applyWrite = (id: string, action: Write): Outcome => {
    const { name } = action;
    const found = objects.get(name);
    const refusal = refusalOf(action, found);
    if (refusal) return refusal;
    const state = resultOf(action, found, id);
    revision += 1 + random.below(2);
    log.push({ revision, name, state });
    if (state) objects.set(name, { revision, state });
    else objects.delete(name);
    const shown = state ?? found?.state;
    if (random.below(20) === 0 || !shown) return unanswered;
    return !state && random.below(2) === 0
      ? { result: 'deleted', uid: shown.uid }
      : { result: 'written', revision, state: shown };
  };
  const runOperation = (id: string): Pick<Operation, 'action' | 'outcome'> => {
    const name = oneOf(random, names);
    const found = objects.get(name);
    switch (random.below(20)) {
      case 0: {
        const items = new Map([...objects].map(([name, object]) => [name, object.revision]));
        return { action: { verb: 'list', within: '' }, outcome: { result: 'listed', revision, items } };
      }
      case 1:
      case 2:
        return { action: { verb: 'get', name }, outcome: found ? { result: 'found', ...found } : { result: 'absent' } };
      default: {
        const action = writeTo(name, id, found, revision, random);
        return { action, outcome: applyWrite(id, action) };
      }
    }
  };
  for (let turn = 1; turn <= turns; turn += 1) {
    const id = `operation-${turn}`;
    // Consecutive operations overlap, so that several orders would be possible without the log.
    const [invokedMs, returnedMs] = [turn * 10 - random.below(15), turn * 10 + random.below(15)];
    history.push({ id, client: `client-${random.below(3)}`, ...runOperation(id), invokedMs, returnedMs });
  }
  return { history, log };
}

const oneOf = <T>(random: Random, some: readonly T[]): T => some[random.below(some.length)] as T; // never empty

function writeTo(name: string, id: string, found: StoredVersion | undefined, revision: number, random: Random): Write {
  const guess = random.below(2) === 0 ? (found?.revision ?? revision) : revision;
  const expected = random.below(3) === 0 ? guess : undefined;
  const values = { [operationIdPath]: id };
  const [secret, other] = [`secrets/${random.below(3)}`, `secrets/${random.below(3)}`];
  const colour: Values = { 'labels/colour': oneOf(random, ['red', 'green']) };
  switch (random.below(8)) {
    case 0:
    case 1:
      return { verb: 'create', name, values: { ...values, ...colour } };
    case 2:
      return { verb: 'delete', name };
    case 3:
      return { verb: 'replace', name, values: { ...values, ...colour }, expected };
    case 4:
      return { verb: 'merge', name, values: { ...values, [`annotations/member-${random.below(3)}`]: id }, expected };
    case 5:
      return other === secret
        ? { verb: 'strategic', name, values, removed: [secret], expected }
        : { verb: 'strategic', name, values: { ...values, [secret]: '' }, removed: [other], expected };
    case 6: {
      const known = found?.state.values[counterPath];
      return { verb: 'count', name, values, counted: random.below(4) === 0 ? '1' : known, expected };
    }
    default: {
      const manager = oneOf(random, ['one', 'two']);
      const more = [colour, { [secret]: '' }, { 'annotations/shared': oneOf(random, ['x', 'y']) }] as Values[];
      const wanted = more.filter(() => random.below(2) === 0);
      const own = { [applyIdPath(manager)]: id };
      const force = random.below(3) === 0;
      return { verb: 'apply', name, manager, force, values: Object.assign(own, ...wanted) as Values, expected };
    }
  }
}
