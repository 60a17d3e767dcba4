/**
 * Accepts the names of CustomResourceDefinitions, and establishes them when their kinds are served: a client that has seen
 * that may use the kind at once.
 */
import { onAbort, runTask } from '@cluster-apiserver/base';
import {
  type CustomResourceDefinition,
  type DefinitionNames,
  findBundleProblem,
  isTrue,
} from '@cluster-apiserver/kinds';
import { formatTime } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { findStructuralFault } from '@cluster-apiserver/custom-resources';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { type ItemChange, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';
import { readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import {
  type ControllerContext,
  type ControllerOptions,
  type ControllerServices,
  type Reconciler,
  runController,
} from '../run-controller.ts';
import { statusAfter } from './definition-status.ts';
import { definitionOf, definitionsIn, readDefinition } from './kind-of-definition.ts';
import { collectNames, noNames, type UsedNames } from './names.ts';

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'kube-apiserver';

/** Definitions at a time. Names are given in one event-loop iteration, so that of two definitions one gets a name. */
const workers = 8;

/** Establishes definitions until the signal aborts, and resolves when no work is running any more. */
export async function establishDefinitions(options: Options): Promise<void> {
  const definitions = definitionsIn(options.api);
  if (!definitions || options.signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: definitions,
    start: (context) => new Establisher(options, definitions, context),
  });
}

type Options = ControllerOptions & Partial<Pick<ControllerServices, 'servedElsewhere'>>;

type Status = CustomResourceDefinition['status'];

class Establisher implements Reconciler {
  readonly #options: Options;
  readonly #definitions: Resource;
  readonly #context: ControllerContext;
  /** By their keys: those that need no other write as they are. A definition is large, and is read only if it has changed. */
  readonly #settled = new Map<string, number>();
  /** The names that this term has given or found, also if they are not stored yet. */
  readonly #names = new Map<string, DefinitionNames>();
  /** The kinds that need no definition: they are served from the start. */
  readonly #ownKinds: readonly Kind[];
  /** Whether memory holds what earlier terms have written. */
  #isCaughtUp = false;
  /** Those that wait for names of others. */
  readonly #inConflict = new Set<string>();
  /** Those that not all replicas serve. */
  readonly #awaited = new Set<string>();

  constructor(options: Options, definitions: Resource, context: ControllerContext) {
    this.#options = options;
    this.#definitions = definitions;
    this.#context = context;
    this.#ownKinds = options.api.stored.map(({ kind }) => kind).filter(({ definition }) => definition === undefined);
    const stopListening = options.servedElsewhere?.onChange(() => this.kindsChanged());
    if (stopListening) onAbort(options.signal, stopListening);
  }

  async reconcile(key: string): Promise<void> {
    const { signal, log } = this.#options;
    const { call } = this.#context;
    if (!this.#isCaughtUp) await readBarrier([this.#definitions], call(), signal);
    this.#isCaughtUp = true;
    const item = readable(this.#definitions.collection.get(key));
    if (!item || this.#settled.get(key) === item.revision) return;
    const definition = await readDefinition(this.#options.clock, item);
    const status = await this.#statusAfter(item, definition);
    if (sameJson(status, definition.status)) return;
    const change = (current: KubeObject): object =>
      // A change of it brings it here again.
      sameJson(contentOf(requireKind(current, 'CustomResourceDefinition')), contentOf(definition))
        ? { ...current, status }
        : current;
    await changeObject(this.#definitions, item, { manager, subresource: 'status', change }, call());
    log.debug(2, 'wrote the conditions of a CustomResourceDefinition', { definition: item.name });
  }

  changed(_: Resource, { key, current }: ItemChange<CachedObject>): void {
    const { enqueue } = this.#context;
    if (current) enqueue(key);
    else for (const all of [this.#settled, this.#names, this.#inConflict, this.#awaited]) all.delete(key);
    for (const other of this.#inConflict) if (groupOf(other) === groupOf(key)) enqueue(other);
  }

  sync(): Promise<void> {
    return this.#context.forEachKey(this.#context.enqueue);
  }

  kindsChanged(): void {
    if (this.#awaited.size === 0) return;
    for (const key of this.#awaited) if (this.#isServedEverywhere(key)) this.#context.enqueue(key);
  }

  /** Whether its kind is served here, and as it is now by all other replicas. */
  #isServedEverywhere(key: string): boolean {
    const { api, servedElsewhere } = this.#options;
    const item = this.#definitions.collection.get(key);
    if (!item || !api.byDefinition(textOfItemKey(key))) return false;
    return servedElsewhere?.isServed(item.revision) ?? true;
  }

  async #statusAfter(item: StoredObject, definition: CustomResourceDefinition): Promise<Status> {
    const { clock } = this.#options;
    const { key } = item;
    const isEstablished = isTrue(definition, 'Established');
    // One that is being deleted gets no names any more.
    const isGoing = definition.metadata.deletionTimestamp !== undefined;
    const bundle = definition.spec.conversion?.webhook?.clientConfig?.caBundle;
    const problem = bundle && !isEstablished ? await runTask(clock, undefined, findBundleProblem(bundle)) : undefined;
    const structuralFault = isGoing ? undefined : await runTask(clock, undefined, findStructuralFault(definition.spec));
    const isServed = isEstablished || this.#isServedEverywhere(key);
    const status = isGoing
      ? definition.status
      : statusAfter(
          definition,
          {
            used: hasWantedNames(definition, definition.status) ? noNames : this.#namesBeside(key, definition),
            isServed,
            hasFaultyBundle: problem !== undefined,
            structuralFault,
          },
          formatTime(clock.now()),
        );
    const isInConflict = !isGoing && !hasWantedNames(definition, status);
    setMember(this.#inConflict, key, isInConflict);
    setMember(this.#awaited, key, !isGoing && !isServed);
    this.#names.set(key, status.acceptedNames);
    if (isGoing || (isServed && !isInConflict && sameJson(status, definition.status)))
      this.#settled.set(key, item.revision);
    return status;
  }

  /** As they are stored, or served while the definition cannot be read. */
  #namesOf(item: CachedObject): DefinitionNames {
    if (!item.unreadable) return definitionOf(item).status.acceptedNames;
    const name = textOfItemKey(item.key);
    const served = this.#options.api.byDefinition(name);
    if (served) return namesOfKind(served.kind);
    // Whatever is accepted now may be its name.
    throw new Error(`${name} cannot be read, so names of its group are not accepted`, { cause: item.unreadable });
  }

  /** The names of the other definitions of the group, and of the kinds in it that need none. */
  #namesBeside(key: string, { spec }: CustomResourceDefinition): UsedNames {
    const names: DefinitionNames[] = [];
    const group = groupOf(key);
    // Of thousands, most are in other groups: they are passed over without a copy of their keys.
    this.#definitions.collection.view().items.visit('', (item) => {
      if (item.key !== key && item.key.endsWith(group) && groupOf(item.key) === group)
        names.push(this.#names.get(item.key) ?? this.#namesOf(item));
      return true;
    });
    for (const own of this.#ownKinds) if (own.group === spec.group) names.push(namesOfKind(own));
    return collectNames(names);
  }
}

const hasWantedNames = ({ spec }: CustomResourceDefinition, { acceptedNames }: Status): boolean =>
  sameJson(spec.names, acceptedNames);

function setMember(all: Set<string>, key: string, isMember: boolean): void {
  if (isMember) all.add(key);
  else all.delete(key);
}

const namesOfKind = ({ plural, singular, shortNames, kind }: Kind): DefinitionNames => ({
  plural,
  singular,
  shortNames: [...shortNames],
  kind,
  listKind: `${kind}List`,
});

const contentOf = ({ metadata, spec, status }: CustomResourceDefinition): object => ({
  annotations: metadata.annotations,
  isDeleted: metadata.deletionTimestamp,
  spec,
  status,
});

/** The name of a definition begins with its plural, which has no dot. */
function groupOf(key: string): string {
  const name = textOfItemKey(key);
  return name.slice(name.indexOf('.'));
}
