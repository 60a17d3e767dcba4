import { seededRandom } from '@cluster-apiserver/base';
import {
  type Action,
  type Attempt,
  attemptAnnotation,
  type Entry,
  type Outcome,
  patchAnnotation,
  type State,
} from './history.ts';

export interface Told {
  readonly history: Attempt[];
  readonly log: Entry[];
}

export interface WorldOptions {
  readonly turns?: number;
  readonly names?: readonly string[];
}

export const unanswered: Outcome = { told: 'nothing', why: 'reset', connectedMs: 0 };

/** A store that does everything at once, at some moment between question and answer: what it tells is true. */
export function world(seed: number, { turns = 120, names = ['a', 'b', 'c'] }: WorldOptions = {}): Told {
  const random = seededRandom(seed);
  const history: Attempt[] = [];
  const log: Entry[] = [];
  const objects = new Map<string, { revision: number; state: State }>();
  let revision = 1;
  for (let turn = 1; turn <= turns; turn += 1) {
    const client = `client-${random.below(3)}`;
    const name = names[random.below(names.length)] as string;
    const id = `attempt-${turn}`;
    const found = objects.get(name);
    const action = actionAt(random.below(8), name, found && random.below(2) === 0 ? found.revision : revision);
    const write = (state: State | undefined): Outcome => {
      revision += 1 + random.below(2);
      log.push({ revision, name, state });
      if (state) objects.set(name, { revision, state });
      else objects.delete(name);
      return random.below(20) === 0 ? unanswered : { told: 'written', revision };
    };
    const outcome = ((): Outcome => {
      if (action.verb === 'list')
        return {
          told: 'listed',
          revision,
          items: new Map([...objects].map(([name, object]) => [name, object.revision])),
        };
      if (action.verb === 'create')
        return found ? { told: 'exists' } : write({ uid: id, annotations: { [attemptAnnotation]: id } });
      if (!found) return { told: 'absent' };
      const { uid, annotations } = found.state;
      if (action.verb === 'get')
        return { told: 'found', revision: found.revision, attempt: annotations[attemptAnnotation] };
      if (action.verb === 'delete') return write(undefined);
      if (action.verb === 'patch')
        return write({ uid, annotations: { ...annotations, [attemptAnnotation]: id, [patchAnnotation(client)]: id } });
      const expected = action.verb === 'replace' ? action.expected : undefined;
      if (expected !== undefined && expected !== found.revision) return { told: 'conflict' };
      return write({ uid, annotations: { [attemptAnnotation]: id } });
    })();
    // Neighbours overlap, so that more than one order would be possible without the log.
    const [invokedMs, returnedMs] = [turn * 10 - random.below(15), turn * 10 + random.below(15)];
    history.push({ id, client, action, invokedMs, returnedMs, outcome });
  }
  return { history, log };
}

function actionAt(choice: number, name: string, revision: number): Action {
  const verb = (['create', 'patch', 'patch', 'delete', 'get'] as const)[choice];
  if (verb) return { verb, name };
  return choice === 5 ? { verb: 'list' } : { verb: 'replace', name, expected: choice === 6 ? revision : undefined };
}
