/** Shared informers of client-go on all objects of some resources: typed, of metadata, and dynamic. */
import { expect } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { until } from '@cluster-apiserver/testkit/until';
import type { Client } from '../fault/client.ts';
import { type ClientProgram, type ClientTarget, goProgram, startProgram } from './client-programs.ts';

export interface GoInformers {
  /** Waits until all caches have what the server lists for the client, and fails if they do not. */
  converge(client: Client): Promise<void>;
  /** The resources of which client-go has no type. */
  listUntyped(): Promise<readonly string[]>;
  end(): Promise<void>;
}

/** A reflector of client-go waits up to half a minute after failures. */
const convergenceMs = 90_000;

/** `paths` are those of the lists of all namespaces, by VERSION/RESOURCE or GROUP/VERSION/RESOURCE. */
export function startGoInformers(target: ClientTarget, paths: Readonly<Record<string, string>>): GoInformers {
  const program: ClientProgram = startProgram(goProgram, ['informers', 'KUBECONFIG', ...Object.keys(paths)], target);
  const cached = async (): Promise<CacheStates> => JSON.parse(await program.ask('states')) as CacheStates;
  return {
    converge: async (client) => {
      const served: Record<string, Versions> = {};
      for (const [resource, path] of Object.entries(paths)) served[resource] = await listVersions(client, path);
      const isSame = (states: CacheStates): boolean =>
        Object.entries(states).every(
          ([resource, { versions, unequal }]) =>
            unequal.length === 0 &&
            Object.values(versions).every((found) => isDeepStrictEqual(found, served[resource])),
        );
      // The comparison below reports the differences.
      await until('the same', async () => isSame(await cached()) || undefined, convergenceMs).catch(() => {});
      const states = Object.entries(await cached());
      expect(states.map(([resource]) => resource).toSorted()).toEqual(Object.keys(served).toSorted());
      for (const [resource, { versions, unequal }] of states) {
        expect({ resource, unequal }).toEqual({ resource, unequal: [] });
        for (const [informer, found] of Object.entries(versions))
          expect({ resource, informer, found }).toEqual({ resource, informer, found: served[resource] });
      }
    },
    listUntyped: async () => {
      const states = Object.entries(await cached());
      return states.filter(([, { versions }]) => versions['typed'] === undefined).map(([resource]) => resource);
    },
    end: () => program.end(),
  };
}

/** resourceVersions by `namespace/name`. */
type Versions = Readonly<Record<string, string>>;

/** By resource; see clientgo/informers.go. */
type CacheStates = Readonly<
  Record<string, { readonly versions: Readonly<Record<string, Versions>>; readonly unequal: readonly string[] }>
>;

async function listVersions(client: Client, path: string): Promise<Versions> {
  const { status, body } = await client.request('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
  const { items } = JSON.parse(body) as { items: readonly { metadata: Metadata }[] };
  return Object.fromEntries(
    items.map(({ metadata }) => [`${metadata.namespace ?? ''}/${metadata.name}`, metadata.resourceVersion]),
  );
}

interface Metadata {
  readonly namespace?: string;
  readonly name: string;
  readonly resourceVersion: string;
}
