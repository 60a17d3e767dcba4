import type { Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { eachOf } from '../feed.ts';
import { createGraph, type Graph } from './graph.ts';
import type { MemberReader } from './member.ts';

/**
 * A look at what really is in a namespace, or everywhere, because an owner that lies in no namespace has its dependents
 * everywhere. Before an owner may go, nobody may depend on it, and a feed cannot know that: the feed of one kind runs
 * ahead of that of another, so a dependent that was made before its owner was deleted may be seen after it, and would
 * then be deleted though its owner's deletion said that it shall stay.
 */
export type Look = (namespace: string | undefined) => Promise<Graph>;

export function looker(resources: readonly Resource[], reader: MemberReader, call: () => Call): Look {
  return shared(async (namespace) => {
    const graph = createGraph();
    for (const resource of resources) {
      // What lies in no namespace depends on nothing inside of one.
      if (namespace !== undefined && !resource.kind.namespaced) continue;
      await eachOf(resource, { namespace }, call, (stored) => {
        const member = reader.read(resource, stored);
        if (member) graph.put(member);
      });
    }
    return graph;
  });
}

/**
 * All who ask while a look is under way share the next one: theirs must begin after they ask. A collection that is
 * deleted in the foreground would otherwise be looked through once for each of its objects.
 */
function shared(look: Look): Look {
  const underWay = new Map<string | undefined, Promise<unknown>>();
  const next = new Map<string | undefined, Promise<Graph>>();
  const begin = (namespace: string | undefined): Promise<Graph> => {
    next.delete(namespace);
    const graph = look(namespace);
    const end = (): unknown => underWay.delete(namespace);
    underWay.set(namespace, graph.then(end, end));
    return graph;
  };
  return (namespace) => {
    const before = underWay.get(namespace);
    if (!before && !next.has(namespace)) return begin(namespace);
    const following = next.get(namespace) ?? (before as Promise<unknown>).then(() => begin(namespace));
    next.set(namespace, following);
    return following;
  };
}
