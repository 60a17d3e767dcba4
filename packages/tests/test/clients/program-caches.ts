/** Programs with caches of all objects of some resources: informers of client-go and of Python, and reflectors of
 * kube-rs. */
import { expect } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import {
  type ClientProgram,
  type ClientTarget,
  goProgram,
  python,
  pythonScript,
  rustProgram,
  startProgram,
} from './client-programs.ts';

export interface ProgramCaches {
  /** Waits until all caches have what the server lists for the client, and fails if they do not. */
  converge(client: Client): Promise<void>;
  /** The resources of which client-go has no type. */
  listUntyped(): Promise<readonly string[]>;
  end(): Promise<void>;
}

/** Clients wait up to half a minute after failures. */
const convergenceMs = 90_000;

/** The paths of the lists of all namespaces, by VERSION/RESOURCE or GROUP/VERSION/RESOURCE. */
type ListPaths = Readonly<Record<string, string>>;

/** Shared informers: typed, of metadata, and dynamic. */
export const startGoInformers = (target: ClientTarget, paths: ListPaths): ProgramCaches =>
  cachesOf(startProgram(goProgram, ['informers', 'KUBECONFIG', ...Object.keys(paths)], target), paths);

/** Reflectors that list at once, in pages, or by a watch; and of metadata. */
export const startRustReflectors = (target: ClientTarget, paths: ListPaths): ProgramCaches =>
  cachesOf(startProgram(rustProgram, ['KUBECONFIG', 'default', ...Object.keys(paths)], target), paths);

/** Informers of what the client has types for. */
export const startPythonInformers = (target: ClientTarget, paths: ListPaths): ProgramCaches =>
  cachesOf(startProgram(python, [pythonScript, 'KUBECONFIG', 'default', ...Object.keys(paths)], target), paths);

function cachesOf(program: ClientProgram, paths: ListPaths): ProgramCaches {
  const cached = async (): Promise<CacheStates> => JSON.parse(await program.ask('states')) as CacheStates;
  return {
    converge: async (client) => {
      let states = await cached();
      const served: Record<string, Versions> = {};
      // Replicas renew their leases meanwhile, so every comparison lists anew.
      const isSame = async (): Promise<boolean> => {
        states = await cached();
        for (const [resource, path] of Object.entries(paths)) served[resource] = await listVersions(client, path);
        return Object.entries(states).every(
          ([resource, { versions, unequal }]) =>
            unequal.length === 0 &&
            Object.values(versions).every((found) => isDeepStrictEqual(found, served[resource])),
        );
      };
      // The comparison below reports the differences.
      await until('the same', async () => (await isSame()) || undefined, convergenceMs).catch(() => {});
      expect(Object.keys(states).toSorted()).toEqual(Object.keys(served).toSorted());
      for (const [resource, { versions, unequal }] of Object.entries(states)) {
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

/** By resource; see clientgo/informers.go and kubers/src/main.rs. */
type CacheStates = Readonly<
  Record<string, { readonly versions: Readonly<Record<string, Versions>>; readonly unequal: readonly string[] }>
>;

async function listVersions(client: Client, path: string): Promise<Versions> {
  const { items } = JSON.parse(await requireSuccess(client, 'GET', path)) as {
    items: readonly { metadata: Metadata }[];
  };
  return Object.fromEntries(
    items.map(({ metadata }) => [`${metadata.namespace ?? ''}/${metadata.name}`, metadata.resourceVersion]),
  );
}

interface Metadata {
  readonly namespace?: string;
  readonly name: string;
  readonly resourceVersion: string;
}
