import type { KubeObject } from '@cluster-apiserver/model';
import type { Cached, Resource } from '@cluster-apiserver/registry';

/**
 * Objects of one kind, compiled, as memory has them. Each is compiled once, when a write first meets it; what did not
 * change is kept. Asking costs nothing while nothing changes.
 */
export class CompiledObjects<Compiled> {
  readonly #resource: Resource;
  readonly #compile: (object: KubeObject) => Compiled;
  #items: object | undefined;
  #byKey = new Map<string, { readonly item: Cached; readonly compiled: Compiled }>();
  #all: readonly Compiled[] = [];

  constructor(resource: Resource, compile: (object: KubeObject) => Compiled) {
    this.#resource = resource;
    this.#compile = compile;
  }

  /** In the order of their names; the same list for as long as nothing changes. */
  get all(): readonly Compiled[] {
    const { items } = this.#resource.collection.view();
    if (items === this.#items) return this.#all;
    const next = new Map<string, { readonly item: Cached; readonly compiled: Compiled }>();
    items.visit('', (item) => {
      // What cannot be read is in force nowhere, and a log line says so.
      if (item.unreadable) return true;
      const known = this.#byKey.get(item.key);
      next.set(item.key, known?.item === item ? known : { item, compiled: this.#compile(item.object) });
      return true;
    });
    this.#items = items;
    this.#byKey = next;
    this.#all = [...next.values()].map(({ compiled }) => compiled);
    return this.#all;
  }
}
