import { type Call, invariant, largeBytesMin, runTask, throwIfAborted, type Task } from '@cluster-apiserver/base';
import { type ByteString, bytesOf, conflict, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import {
  HistoryReplacedError,
  KeyExistsError,
  type Revision,
  RevisionMismatchError,
  type StoredValue,
} from '@cluster-apiserver/storage';
import { type Outcome, WrittenObject } from '../outcome.ts';
import { type Place, placeOf, type Resource } from '../resource.ts';
import { readStored, type StoredObject } from '../stored-object.ts';
import { type AdmissionOptions, admit } from './admission.ts';
import { createAdmitted } from './store-new-object.ts';

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
  decide: (current: Current | undefined) => Task<Decision>,
): Promise<UpdateResult> {
  const { store, kind } = resource;
  const place = placeOf(resource, target.namespace, target.name);
  const update: Update = { resource, place, options, call, decide, history: store.historyNumber };
  const early = options.dryRun ? undefined : await decideFromMemory(update);
  let last = early?.write
    ? await commitUnlessRaced(update, early.write, early.current.revision)
    : new StateInStore(currentOf(update, (await store.get(place.key, call)).stored));
  for (let tries = 0; tries < triesMax && last instanceof StateInStore; tries++) {
    throwIfAborted(call);
    const { current } = last;
    const known = store.historyNumber === update.history ? stillValid(early, current) : undefined;
    const { decision, write } = await decideOn(update, current, known);
    if (!write || options.dryRun) {
      if (!current && decision.write) await admitCreate(resource, target.name, decision.write, options);
      return unwrittenResult(decision, current);
    }
    last = await commitUnlessRaced(update, write, current?.revision);
  }
  if (!(last instanceof StateInStore)) return last;
  throw conflict(kind, target.name, `the object changed during each of ${triesMax} tries; please try again`);
}

/** One call of guaranteedUpdate. */
interface Update {
  readonly resource: Resource;
  readonly place: Place;
  readonly options: AdmissionOptions;
  readonly call: Call;
  readonly decide: (current: Current | undefined) => Task<Decision>;
  /** The history of the store at the beginning: in another one the same revision may be that of another object. */
  readonly history: number;
}

/** What was decided on the state in the watch cache. */
interface EarlyDecision {
  readonly current: Current;
  readonly decision?: Decision;
  readonly write?: Write | undefined;
  readonly refusal?: { readonly error: unknown };
}

async function decideFromMemory(update: Update): Promise<EarlyDecision | undefined> {
  const cached = update.resource.collection.get(update.place.itemKey);
  if (!cached || cached.unreadable) return undefined;
  const current = new Current(cached);
  try {
    return { current, ...(await decideOn(update, current)) };
  } catch (error) {
    return { current, refusal: { error } };
  }
}

/** An early decision that led to no write and holds for the stored state. Throws the refusal that holds for it. */
function stillValid(early: EarlyDecision | undefined, stored: Current | undefined): Decision | undefined {
  if (!early || stored?.revision !== early.current.revision) return undefined;
  if (early.refusal) throw early.refusal.error;
  return early.write ? undefined : early.decision;
}

interface DecidedWrite {
  readonly decision: Decision;
  readonly write: Write | undefined;
}

function decideOn(
  { resource, call, decide }: Update,
  current: Current | undefined,
  known?: Decision,
): DecidedWrite | Promise<DecidedWrite> {
  const isLarge = current !== undefined && current.json.length >= largeBytesMin;
  return runTask(resource.clock, call, decisionSteps(current, known, decide), isLarge);
}

function* decisionSteps(
  current: Current | undefined,
  known: Decision | undefined,
  decide: Update['decide'],
): Task<DecidedWrite> {
  current?.read();
  yield;
  const decision = known ?? (yield* decide(current));
  yield;
  return { decision, write: writeOf(decision, current) };
}

interface Write {
  readonly object: KubeObject;
  /** Undefined to remove the object. */
  readonly bytes: ByteString | undefined;
}

/** Undefined if nothing would change: such a write would wake every watcher for nothing. */
function writeOf(decision: Decision, current: Current | undefined): Write | undefined {
  if (decision.remove) return { object: decision.remove, bytes: undefined };
  const object = decision.write;
  const fresh = current && !current.stored.stale;
  if (fresh && object === current.object) return undefined;
  const bytes = encodeStored(object);
  return fresh && current.stored.storedForm === bytes ? undefined : { object, bytes };
}

async function commit(update: Update, { object, bytes }: Write, over: Revision | undefined): Promise<UpdateResult> {
  const { resource, history } = update;
  if (resource.store.historyNumber !== history) throw new HistoryReplacedError();
  const revision = await writeToStore(update, object, bytes, over);
  return { outcome: new WrittenObject(object, revision, bytes), over, created: !over, removed: bytes === undefined };
}

async function writeToStore(
  { resource, place: { key }, options, call }: Update,
  object: KubeObject,
  bytes: ByteString | undefined,
  over: Revision | undefined,
): Promise<Revision> {
  if (over === undefined) {
    invariant(bytes !== undefined, 'no verb decides to remove an absent object');
    return createAdmitted(resource, key, object, bytes, options, call);
  }
  const { store, kind, collection } = resource;
  const { timeToLiveSeconds } = kind;
  const revision =
    bytes === undefined
      ? await store.delete(key, over, call)
      : await store.update(key, bytesOf(bytes), over, { timeToLiveSeconds, source: object }, call);
  collection.noteLocalWrite(revision);
  return revision;
}

/** Returns the state of the store if another write came first. */
async function commitUnlessRaced(
  update: Update,
  write: Write,
  over: Revision | undefined,
): Promise<UpdateResult | StateInStore> {
  try {
    return await commit(update, write, over);
  } catch (error) {
    if (!isRace(error)) throw error;
    return new StateInStore(currentOf(update, error.current));
  }
}

const isRace = (error: unknown): error is KeyExistsError | RevisionMismatchError =>
  error instanceof KeyExistsError || error instanceof RevisionMismatchError;

/** A create that is not written, such as in a dry run, is admitted all the same. */
const admitCreate = async (
  resource: Resource,
  name: string,
  object: KubeObject,
  options: AdmissionOptions,
): Promise<unknown> => admit(resource, options, { operation: 'CREATE', name, object, oldObject: undefined });

const unwrittenResult = ({ write, remove }: Decision, over: Current | undefined): UpdateResult => ({
  outcome: new WrittenObject(write ?? remove, over?.revision),
  over: over?.revision,
  created: over === undefined,
  removed: remove !== undefined,
});

const currentOf = ({ resource, place }: Update, stored: StoredValue | undefined): Current | undefined =>
  stored && new Current(readStored(resource.kind, stored, place.itemKey));

/** What the store holds instead of the state that a write expected; undefined if there is no object. */
class StateInStore {
  readonly current: Current | undefined;

  constructor(current: Current | undefined) {
    this.current = current;
  }
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

  /** Parses it now, as a step of its own. */
  read(): void {
    this.#object ??= this.stored.object;
  }
}
