import { type Call, largeBytesMin, perform, throwIfAborted, type Work } from '@cluster-apiserver/base';
import { type ByteString, bytesOf, conflict, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import {
  HistoryReplacedError,
  KeyExistsError,
  type Revision,
  RevisionMismatchError,
  type Stored,
} from '@cluster-apiserver/storage';
import { type AdmissionOptions, createAdmitted, admit } from './admission.ts';
import { WrittenObject, type Outcome } from '../outcome.ts';
import { placeOf, type Resource } from '../resource.ts';
import { readStored, type StoredObject } from '../stored-object.ts';

/** What shall become of an object: written as it now is, or removed. */
export type Decision =
  | { readonly write: KubeObject; readonly remove?: never }
  | { readonly remove: KubeObject; readonly write?: never };

export interface UpdateResult {
  /** What is stored now, or what was removed, at the revision of the write. */
  readonly outcome: Outcome;
  /** When what was there before had been written; undefined when nothing was there. */
  readonly over: Revision | undefined;
  readonly created: boolean;
  readonly removed: boolean;
}

/** Against another writer who always comes first. Each try costs one round trip, so this is far beyond bad luck. */
const triesMax = 100;

/**
 * Reads, decides and writes under the condition that nobody wrote in between; decides again on what is there when
 * somebody did. `decide` must not keep anything from one call to the next.
 *
 * The first reading is out of memory and may be a moment old. If it leads to a write, the condition of the write tells
 * whether it was. If it leads to anything else, an error or nothing to do, that only counts if it is still there.
 */
export async function guaranteedUpdate(
  resource: Resource,
  where: { readonly namespace: string | undefined; readonly name: string },
  options: AdmissionOptions,
  call: Call,
  decide: (current: Current | undefined) => Work<Decision>,
): Promise<UpdateResult> {
  const { store, kind, collection, clock } = resource;
  const { history } = store;
  const { key, itemKey } = placeOf(resource, where.namespace, where.name);
  const remembered = collection.get(itemKey);
  const early = remembered && !remembered.unreadable && !options.dryRun ? new Early(remembered) : undefined;
  if (early) {
    const write = await early.decide(() => decidedWrite(early.current));
    const done = write && (await undefinedIfRaced(() => apply(write, early.current.revision)));
    if (done) return done;
  }
  let current = asCurrent((await store.get(key, call)).stored);
  for (let tries = 0; tries < triesMax; tries++) {
    throwIfAborted(call);
    const known = store.history === history ? early?.decisionOn(current) : undefined;
    const found = decidedWrite(current, known);
    const { decision, write } = found instanceof Promise ? await found : found;
    if (!write || options.dryRun) {
      if (!current && decision.write)
        await admit(resource, options, {
          operation: 'CREATE',
          name: where.name,
          object: decision.write,
          oldObject: undefined,
        });
      return withoutWrite(decision, current);
    }
    try {
      return await apply(write, current?.revision);
    } catch (error) {
      if (!isRace(error)) throw error;
      current = asCurrent(error.current);
    }
  }
  throw conflict(kind, where.name, `other writers came first ${triesMax} times; please try again`);

  function decidedWrite(over: Current | undefined, known?: Decision): DecidedWrite | Promise<DecidedWrite> {
    const isLarge = over !== undefined && over.json.length >= largeBytesMin;
    return perform(clock, call, stepsTo(over, known, decide), isLarge);
  }

  function asCurrent(stored: Stored | undefined): Current | undefined {
    return stored && new Current(readStored(kind, stored, itemKey));
  }

  async function apply({ object, bytes }: Write, over: Revision | undefined): Promise<UpdateResult> {
    // The same revision may be that of something else by now.
    if (store.history !== history) throw new HistoryReplacedError();
    const revision = await written(object, bytes, over);
    collection.wrote(revision);
    return { outcome: new WrittenObject(object, revision, bytes), over, created: !over, removed: bytes === undefined };
  }

  function written(object: KubeObject, bytes: ByteString | undefined, over: Revision | undefined): Promise<Revision> {
    // What is not there is not removed: whoever decides so has an answer for it.
    if (bytes === undefined) return store.delete(key, over as Revision, call);
    const { timeToLiveSeconds } = kind;
    if (over !== undefined) return store.update(key, bytesOf(bytes), over, { timeToLiveSeconds, source: object }, call);
    return createAdmitted(resource, object, options, call, (premises) =>
      store.create(key, bytesOf(bytes), { timeToLiveSeconds, source: object, premises }, call),
    );
  }
}

function* stepsTo(
  over: Current | undefined,
  known: Decision | undefined,
  decide: (current: Current | undefined) => Work<Decision>,
): Work<DecidedWrite> {
  over?.read();
  yield;
  const decision = known ?? (yield* decide(over));
  yield;
  return { decision, write: writeOf(decision, over) };
}

/** What is there as a decision sees it: parsed when it is looked into, once, and shared by all who look. */
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

/** What was decided on what memory held. */
class Early {
  readonly current: Current;
  #decision: Decision | undefined;
  #refusal: { readonly error: unknown } | undefined;

  constructor(remembered: StoredObject) {
    this.current = new Current(remembered);
  }

  /** The write that it leads to, if it leads to one. */
  async decide(decide: () => DecidedWrite | Promise<DecidedWrite>): Promise<Write | undefined> {
    try {
      const found = decide();
      const { decision, write } = found instanceof Promise ? await found : found;
      if (!write) this.#decision = decision;
      return write;
    } catch (error) {
      this.#refusal = { error };
      return undefined;
    }
  }

  /** The decision if it led to no write and holds for what is stored, or throws the refusal that does. */
  decisionOn(stored: Current | undefined): Decision | undefined {
    if (stored?.revision !== this.current.revision) return undefined;
    if (this.#refusal) throw this.#refusal.error;
    return this.#decision;
  }
}

interface DecidedWrite {
  readonly decision: Decision;
  readonly write: Write | undefined;
}

interface Write {
  readonly object: KubeObject;
  /** Undefined to remove what is there. */
  readonly bytes: ByteString | undefined;
}

/** Undefined for a write of what is there already, which would wake every watcher for nothing. */
function writeOf(decision: Decision, over: Current | undefined): Write | undefined {
  if (decision.remove) return { object: decision.remove, bytes: undefined };
  const object = decision.write;
  const fresh = over && !over.stored.stale;
  if (fresh && object === over.object) return undefined;
  const bytes = encodeStored(object);
  return fresh && over.stored.storedForm === bytes ? undefined : { object, bytes };
}

const withoutWrite = ({ write, remove }: Decision, over: Current | undefined): UpdateResult => ({
  outcome: new WrittenObject(write ?? remove, over?.revision),
  over: over?.revision,
  created: over === undefined,
  removed: remove !== undefined,
});

async function undefinedIfRaced(apply: () => Promise<UpdateResult>): Promise<UpdateResult | undefined> {
  try {
    return await apply();
  } catch (error) {
    if (isRace(error)) return undefined;
    throw error;
  }
}

const isRace = (error: unknown): error is KeyExistsError | RevisionMismatchError =>
  error instanceof KeyExistsError || error instanceof RevisionMismatchError;
