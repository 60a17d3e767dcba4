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
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { type ItemChange, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';
import { itemsWithin, readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import {
  type ControllerContext,
  type ControllerOptions,
  type ControllerServices,
  type Reconciler,
  runController,
} from '../run-controller.ts';
import { statusAfter } from './definition-status.ts';
import { definitionsIn, kindOfDefinition } from './kind-of-definition.ts';
import { collectNames, noNames, type UsedNames } from './names.ts';

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'kube-apiserver';

/** Of two definitions that want the same name the first one gets it, and the second one sees that. */
const workers = 1;

/** Establishes definitions until the signal aborts, and resolves when no work is running any more. */
export async function establishDefinitions(options: Options): Promise<void> {
  const definitions = definitionsIn(options.api.current);
  if (!definitions || options.signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: definitions,
    followed: () => [definitions],
    start: (context) => new Establisher(options, definitions, context),
  });
}

type Options = ControllerOptions & Partial<Pick<ControllerServices, 'servedElsewhere'>>;

type Status = CustomResourceDefinition['status'];

class Establisher implements Reconciler {
  readonly #options: Options;
  readonly #definitions: Resource;
  readonly #context: ControllerContext;
  /** Those that wait for names of others, by their keys. */
  readonly #inConflict = new Set<string>();
  /** Those that not all replicas serve, by their keys. */
  readonly #awaited = new Set<string>();

  constructor(options: Options, definitions: Resource, context: ControllerContext) {
    this.#options = options;
    this.#definitions = definitions;
    this.#context = context;
    const stopListening = options.servedElsewhere?.onChange(() => {
      for (const key of this.#awaited) context.enqueue(key);
    });
    if (stopListening) onAbort(options.signal, stopListening);
  }

  async reconcile(key: string): Promise<void> {
    const { signal, log } = this.#options;
    const { call } = this.#context;
    const known = this.#read(key);
    if (!known || sameJson(await this.#statusAfter(key, known), known.status)) return;
    // The names that were accepted last may not be in memory yet.
    await readBarrier(this.#definitions, call(), signal);
    const item = readable(this.#definitions.collection.get(key));
    const definition = this.#read(key);
    if (!item || !definition) return;
    const status = await this.#statusAfter(key, definition);
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
    else {
      this.#inConflict.delete(key);
      this.#awaited.delete(key);
    }
    for (const other of this.#inConflict) if (groupOf(other) === groupOf(key)) enqueue(other);
  }

  sync(): Promise<void> {
    return this.#context.forEachKey(this.#context.enqueue);
  }

  #read(key: string): CustomResourceDefinition | undefined {
    const item = readable(this.#definitions.collection.get(key));
    return item && requireKind(item.object, 'CustomResourceDefinition');
  }

  /** One that is being deleted gets no names any more. */
  async #statusAfter(key: string, definition: CustomResourceDefinition): Promise<Status> {
    const { clock } = this.#options;
    if (definition.metadata.deletionTimestamp !== undefined) return definition.status;
    const isEstablished = isTrue(definition, 'Established');
    const bundle = definition.spec.conversion?.webhook?.clientConfig?.caBundle;
    const problem = bundle && !isEstablished ? await runTask(clock, undefined, findBundleProblem(bundle)) : undefined;
    const status = statusAfter(
      definition,
      {
        used: sameJson(definition.spec.names, definition.status.acceptedNames)
          ? noNames
          : this.#namesBeside(key, definition),
        isServed: isEstablished || this.#isServed(key),
        hasFaultyBundle: problem !== undefined,
      },
      formatTime(clock.now()),
    );
    if (sameJson(definition.spec.names, status.acceptedNames)) this.#inConflict.delete(key);
    else this.#inConflict.add(key);
    return status;
  }

  /** Whether clients find the kind, whichever replica they ask. */
  #isServed(key: string): boolean {
    const { api, servedElsewhere } = this.#options;
    if (!kindOfDefinition(api.current, textOfItemKey(key))) return false;
    const item = readable(this.#definitions.collection.get(key));
    const isServed = item !== undefined && (servedElsewhere?.isServed(item.revision) ?? true);
    if (isServed) this.#awaited.delete(key);
    else this.#awaited.add(key);
    return isServed;
  }

  /** The names of the other definitions of the group, and of the kinds in it that need none. */
  #namesBeside(key: string, { spec }: CustomResourceDefinition): UsedNames {
    const names: DefinitionNames[] = [];
    for (const item of itemsWithin(this.#definitions.collection.view(), '')) {
      const stored = item.key !== key && groupOf(item.key) === groupOf(key) ? readable(item) : undefined;
      if (stored) names.push(requireKind(stored.object, 'CustomResourceDefinition').status.acceptedNames);
    }
    for (const { kind: own } of this.#options.api.current.stored)
      if (own.group === spec.group && own.definition === undefined)
        names.push({
          plural: own.plural,
          singular: own.singular,
          shortNames: [...own.shortNames],
          kind: own.kind,
          categories: [],
          listKind: `${own.kind}List`,
        });
    return collectNames(names);
  }
}

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
