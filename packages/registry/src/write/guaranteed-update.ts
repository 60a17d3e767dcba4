import {
  awaitValue,
  type Call,
  invariant,
  largeBytesMin,
  runTask,
  type SyncTask,
  throwIfAborted,
  type Task,
} from '@cluster-apiserver/base';
import { conflict } from '@cluster-apiserver/model';
import { type ByteString, bytesOf } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  HistoryReplacedError,
  KeyExistsError,
  type Revision,
  RevisionMismatchError,
  type StoredValue,
} from '@cluster-apiserver/storage';
import { toVersion } from '../conversion.ts';
import { type Outcome, WrittenObject } from '../outcome.ts';
import { type Place, placeOf, type Resource } from '../resource.ts';
import { readStoredInSlices, type StoredObject } from '../stored-object.ts';
import { type AdmissionOptions, admit } from './admission.ts';
import { createAdmitted, encodeObject, type EncodedObject, writtenObject } from './store-new-object.ts';

/** What to do with an object: write a new state, or remove it. */
export type Decision =
  | { readonly write: KubeObject; readonly remove?: never }
  | { readonly remove: KubeObject; readonly write?: never };

export interface UpdateResult {
  /** What is stored now, or what was removed, at the revision of the write. */
  readonly outcome: Outcome;
  /** The revision of the state that was replaced; undefined if there was no object. */
  readonly over: Revision | undefined;
  readonly created: boolean;
  readonly removed: boolean;
}

/** Each try costs one round trip and fails only if another write came first, so this many are far beyond bad luck. */
const triesMax = 100;

/**
 * Reads an object, decides, and writes on the condition that the object has not changed since. After a conflict it
 * decides again on the new state, so `decide` must not keep anything from one call to the next.
 *
 * The first state comes from the watch cache and may be stale. A decision to write is safe all the same, because the
 * write is conditional, and the store answers a lost race with its state. Any other decision only counts if the store
 * still holds the same state.
 */
export async function guaranteedUpdate(
  resource: Resource,
  target: { readonly namespace: string | undefined; readonly name: string },
  options: AdmissionOptions,
  call: Call,
  decide: (current: Outcome | undefined) => Task<Decision>,
): Promise<UpdateResult> {
  const { served } = resource;
  const place = placeOf(resource, target.namespace, target.name);
  const update: Update = { resource, place, options, call, decide, history: resource.collection.historyNumber };
  let base = (options.dryRun ? undefined : readCached(update)) ?? (await readFromStore(update));
  for (let tries = 0; tries < triesMax; tries++) {
    throwIfAborted(call);
    const verdict = await decideOn(update, base);
    if (verdict.write && !options.dryRun) {
      const written = await commit(update, verdict.write, base.current?.revision);
      if (!(written instanceof Base)) return written;
      base = written;
    } else {
      const stored = base.isCached ? await readFromStore(update) : base;
      if (stored === base || isSame(update, base, stored)) return conclude(update, verdict, stored);
      base = stored;
    }
  }
  throw conflict(served, target.name, `the object changed during each of ${triesMax} tries; please try again`);
}

/** One call of guaranteedUpdate. */
interface Update {
  readonly resource: Resource;
  readonly place: Place;
  readonly options: AdmissionOptions;
  readonly call: Call;
  readonly decide: (current: Outcome | undefined) => Task<Decision>;
  /** The history of the store at the beginning: in another one the same revision may be that of another object. */
  readonly history: number;
}

/** The state that a decision is made on. */
class Base {
  /** Undefined if there is no object. */
  readonly current: Current | undefined;
  /** Whether the store may have another state by now. */
  readonly isCached: boolean;

  constructor(stored: StoredObject | undefined, isCached: boolean) {
    this.current = stored && new Current(stored);
    this.isCached = isCached;
  }
}

function readCached({ resource, place }: Update): Base | undefined {
  const cached = resource.collection.get(place.itemKey);
  return cached && !cached.unreadable ? new Base(cached, true) : undefined;
}

const readFromStore = async (update: Update): Promise<Base> =>
  toBase(update, (await update.resource.store.get(update.place.key, update.call)).stored);

const toBase = async ({ resource, place, call }: Update, stored: StoredValue | undefined): Promise<Base> =>
  new Base(stored && (await readStoredInSlices(resource, stored, place.itemKey, call)), false);

/** Whether what was decided on a cached state holds for that of the store. */
const isSame = ({ resource, history }: Update, { current: cached }: Base, { current: stored }: Base): boolean =>
  resource.collection.historyNumber === history &&
  cached?.revision === stored?.revision &&
  cached?.stored.stale === stored?.stored.stale;

/** A decision, or why there is none, and what has to be written for it: nothing if nothing would change. */
interface Verdict {
  readonly decision?: Decision;
  readonly refusal?: { readonly error: unknown };
  readonly write?: NextState | undefined;
}

interface NextState {
  readonly decided: KubeObject;
  /** Undefined to remove the object. */
  readonly stored: EncodedObject | undefined;
}

/** A refusal of a state that may be stale is kept until that state is known to hold. */
function decideOn({ resource, call, decide }: Update, { current, isCached }: Base): Verdict | Promise<Verdict> {
  const refuse = (error: unknown): Verdict => {
    if (!isCached) throw error;
    return { refusal: { error } };
  };
  const isLarge = current !== undefined && current.json.length >= largeBytesMin;
  try {
    const verdict = runTask(resource.clock, call, decisionSteps(resource, current, decide, call), isLarge);
    return verdict instanceof Promise ? verdict.catch(refuse) : verdict;
  } catch (error) {
    return refuse(error);
  }
}

function* decisionSteps(
  resource: Resource,
  current: Current | undefined,
  decide: Update['decide'],
  call: Call,
): Task<Verdict> {
  if (current) {
    const object = yield* current.decode();
    yield;
    current.object = yield* awaitValue(toVersion(resource.kind, object, resource.kind, call));
  }
  const decision = yield* decide(current);
  yield;
  return { decision, write: yield* nextStateOf(resource, decision, current, call) };
}

/** Undefined if nothing would change: such a write would wake every watcher for nothing. */
function* nextStateOf(
  resource: Resource,
  decision: Decision,
  current: Current | undefined,
  call: Call,
): Task<NextState | undefined> {
  if (decision.remove) return { decided: decision.remove, stored: undefined };
  const decided = decision.write;
  const fresh = current && !current.stored.stale;
  if (fresh && decided === current.object) return undefined;
  const stored = yield* encodeObject(resource, decided, call);
  return fresh && current.stored.storedForm === stored.bytes ? undefined : { decided, stored };
}

/** Returns the state of the store if another write came first. */
async function commit(update: Update, next: NextState, over: Revision | undefined): Promise<UpdateResult | Base> {
  const { resource, history } = update;
  if (resource.collection.historyNumber !== history) throw new HistoryReplacedError();
  try {
    const revision = await send(update, next, over);
    resource.collection.noteLocalWrite(revision);
    const { decided, stored } = next;
    const outcome = stored ? writtenObject(stored, revision) : new WrittenObject(decided, revision);
    return { outcome, over, created: over === undefined, removed: stored === undefined };
  } catch (error) {
    if (error instanceof KeyExistsError || error instanceof RevisionMismatchError)
      return await toBase(update, error.current);
    throw error;
  }
}

function send(
  { resource, place, options, call }: Update,
  { decided, stored }: NextState,
  over: Revision | undefined,
): Promise<Revision> {
  const { store } = resource;
  if (over === undefined) {
    invariant(stored, 'no verb decides to remove an absent object');
    return createAdmitted(resource, place, { decided, stored }, options, call);
  }
  const { key } = place;
  if (!stored) return store.delete(key, over, call);
  const { timeToLiveSeconds } = resource.stored;
  return store.update(key, bytesOf(stored.bytes), over, { timeToLiveSeconds, source: stored.source }, call);
}

/** The result of a verdict that writes nothing. */
async function conclude(
  { resource, options }: Update,
  { decision, refusal }: Verdict,
  { current }: Base,
): Promise<UpdateResult> {
  if (refusal) throw refusal.error;
  invariant(decision, 'a verdict without a refusal has a decision');
  const { write, remove } = decision;
  // A create that is not written, such as in a dry run, is admitted all the same.
  if (!current && write) {
    const { name } = write.metadata;
    await admit(resource, options, { operation: 'CREATE', name, object: write, oldObject: undefined });
  }
  return {
    outcome: new WrittenObject(write ?? remove, current?.revision),
    over: current?.revision,
    created: !current,
    removed: remove !== undefined,
  };
}

/** The present state as decisions see it. It is parsed once, when it is first needed. */
class Current implements Outcome {
  readonly stored: StoredObject;
  #object: KubeObject | undefined;

  constructor(stored: StoredObject) {
    this.stored = stored;
  }

  get revision(): Revision {
    return this.stored.revision;
  }

  get json(): ByteString {
    return this.stored.json;
  }

  get object(): KubeObject {
    return (this.#object ??= this.stored.object);
  }

  *decode(): SyncTask<KubeObject> {
    return (this.#object ??= yield* this.stored.decode());
  }

  /** In the version in which writes are decided. */
  set object(object: KubeObject) {
    this.#object = object;
  }
}
