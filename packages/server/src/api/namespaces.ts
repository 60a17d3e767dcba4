import {
  backoff,
  callUntil,
  type Clock,
  type Random,
  type CleanupStack,
  requireValue,
  sleep,
  type Span,
  awaitWithin,
  onAbort,
} from '@cluster-apiserver/base';
import type { Namespaces } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { decode } from '@cluster-apiserver/model/schema';
import { getCached, type Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { WiringContext } from '../configuration/context.ts';
import type { Loopback } from './loopback.ts';

/** All requests that wait for a namespace share its creation, so the creation has its own deadline. */
const createTimeoutMs = 10_000;

/** Admission needs namespaces, and their creation needs admission: so the loopback is connected after both are open. */
export interface ConnectedNamespaces extends Namespaces {
  connect(loopback: Loopback): void;
}

/** The namespaces for admission, read from the watch cache. */
export function createNamespaces(resource: Resource, clock: Clock): ConnectedNamespaces {
  const { kind, collection } = resource;
  let connected: Loopback | undefined;
  const inFlight = new Map<string, Promise<void>>();
  const createNamespace = async (name: string, trace: Span | undefined): Promise<void> => {
    const call = callUntil(clock.monotonicMs() + createTimeoutMs, trace);
    const names = { kind: kind.kind, apiVersion: kind.apiVersion };
    const draft = decode(kind.schema, { ...names, metadata: { name } }, () => {});
    try {
      const loopback = requireValue(connected, 'assemble connects it before requests are served');
      const { revision } = await loopback.create(resource, draft, call);
      await collection.waitUntilFresh(revision, call);
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === 'AlreadyExists')) throw error;
      await collection.waitUntilFresh(undefined, call);
    }
  };
  return {
    connect: (loopback) => {
      connected = loopback;
    },
    find: (name) => {
      const found = getCached(resource, undefined, name);
      return (
        found && {
          terminating: found.fields?.['status.phase'] === 'Terminating',
          precondition: { key: collection.descriptor.prefix + name, revision: found.revision },
        }
      );
    },
    refresh: async (call) => collection.waitUntilFresh(undefined, call),
    create: (name, call) => {
      // Concurrent requests for one namespace share its creation and a rejection. If it fails, the next request tries again.
      const others = inFlight.get(name);
      if (others)
        return awaitWithin(
          clock,
          call,
          others.catch((error: unknown) => {
            if (isRejection(error)) throw error;
          }),
        );
      const making = createNamespace(name, call.trace).finally(() => inFlight.delete(name));
      inFlight.set(name, making);
      return awaitWithin(clock, call, making);
    },
  };
}

const isRejection = (error: unknown): boolean => error instanceof StatusError && error.code < 500;

const retries = { firstMs: 100, maxMs: 10_000 };

/** Creates the namespaces of --system-namespaces that do not exist, in the background; retries until it succeeds. */
export function startSystemNamespaces(
  { flags, environment, log }: WiringContext,
  { namespaces, filled }: { readonly namespaces: ConnectedNamespaces | undefined; readonly filled: Promise<void> },
  cleanup: CleanupStack,
): void {
  if (!namespaces) return;
  const { clock, random } = environment;
  const closing = new AbortController();
  const { signal } = closing;
  const names = flags['system-namespaces'];
  const created = createMissing({ names, namespaces, filled, clock, random, log, signal });
  cleanup.defer('system namespaces', async () => {
    closing.abort();
    await created;
  });
}

interface MissingNamespaces {
  readonly names: readonly string[];
  readonly namespaces: Namespaces;
  /** Existing namespaces are unknown before. */
  readonly filled: Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

async function createMissing({
  names,
  namespaces,
  filled,
  clock,
  random,
  log,
  signal,
}: MissingNamespaces): Promise<void> {
  await Promise.race([filled, new Promise<void>((resolve) => onAbort(signal, resolve))]);
  const pauses = backoff(retries, random);
  while (!signal.aborted) {
    try {
      for (const name of names)
        if (!namespaces.find(name)) await namespaces.create(name, callUntil(clock.monotonicMs() + createTimeoutMs));
      return;
    } catch (error) {
      log.withName('namespaces').warn('creating the system namespaces failed; retrying', { error: asError(error) });
    }
    // The signal ends the pause when the server closes.
    await sleep(clock, pauses.nextMs(), signal).catch(() => {});
  }
}
