import {
  backoff,
  callUntil,
  type Clock,
  type Random,
  type CleanupStack,
  sleep,
  type Span,
  awaitWithin,
} from '@cluster-apiserver/base';
import type { Namespaces } from '@cluster-apiserver/gates';
import { decode, type KubeObject, StatusError } from '@cluster-apiserver/model';
import { create, getCached, type Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';

/** All who wait for one namespace share its creation, so it has a deadline of its own. */
const makeTimeoutMs = 10_000;

/** Who the namespaces are made by, in managedFields. */
const manager = 'apiserver';

/** The namespaces as admission needs them, out of memory. */
export function namespacesIn(resource: Resource, clock: Clock): Namespaces {
  const { kind, collection } = resource;
  const underWay = new Map<string, Promise<void>>();
  const made = async (name: string, trace: Span | undefined): Promise<void> => {
    const call = callUntil(clock.monotonicMs() + makeTimeoutMs, trace);
    const names = { kind: kind.kind, apiVersion: kind.apiVersion };
    const draft = decode(kind.schema, { ...names, metadata: { name } }, () => {}) as KubeObject;
    const options = { namespace: undefined, dryRun: false, manager, warn: () => {} };
    try {
      const { revision } = await create(resource, draft, options, call);
      await collection.waitUntilFresh(revision, call);
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === 'AlreadyExists')) throw error;
      await collection.waitUntilFresh(undefined, call);
    }
  };
  return {
    known: (name) => {
      const found = getCached(resource, undefined, name);
      return (
        found && {
          terminating: found.fields?.['status.phase'] === 'Terminating',
          precondition: { key: collection.descriptor.prefix + name, revision: found.revision },
        }
      );
    },
    refresh: async (call) => collection.waitUntilFresh(undefined, call),
    make: (name, call) => {
      // Many objects may come with one namespace: one of them makes it, and if that fails the next one tries.
      const others = underWay.get(name);
      if (others)
        return awaitWithin(
          clock,
          call,
          others.catch(() => {}),
        );
      const making = made(name, call.trace).finally(() => underWay.delete(name));
      underWay.set(name, making);
      return awaitWithin(clock, call, making);
    },
  };
}

export interface SystemNamespaces {
  readonly names: readonly string[];
  readonly namespaces: Namespaces;
  /** Before, those that are there are not known. */
  readonly filled: Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const retries = { firstMs: 100, maxMs: 10_000 };

/** Sees to it that there are these namespaces, whichever replica is the first. */
export function makeSystemNamespaces(options: SystemNamespaces, scope: CleanupStack): void {
  const closing = new AbortController();
  const made = makeAll(options, closing.signal);
  scope.defer('system namespaces', async () => {
    closing.abort();
    await made;
  });
}

async function makeAll(
  { names, namespaces, filled, clock, random, log }: SystemNamespaces,
  signal: AbortSignal,
): Promise<void> {
  await Promise.race([filled, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);
  const pauses = backoff(retries, random);
  while (!signal.aborted) {
    try {
      for (const name of names)
        if (!namespaces.known(name)) await namespaces.make(name, callUntil(clock.monotonicMs() + makeTimeoutMs));
      return;
    } catch (error) {
      log.withName('namespaces').warn('creating the system namespaces failed; retrying', { error: asError(error) });
    }
    // Ends early, by the signal, when the server closes.
    await sleep(clock, pauses.nextMs(), signal).catch(() => {});
  }
}
