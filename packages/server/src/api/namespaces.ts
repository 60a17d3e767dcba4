import {
  asError,
  type Call,
  callUntil,
  type Clock,
  type CleanupStack,
  requireValue,
  type Span,
  awaitWithin,
} from '@cluster-apiserver/base';
import type { Namespaces } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { decode } from '@cluster-apiserver/model/schema';
import { getCached, type Resource } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';
import { startStartupWork } from '../retry-until-done.ts';
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
  const refresh = async (call: Call): Promise<void> => collection.waitUntilFresh(undefined, call);
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
          precondition: {
            key: collection.descriptor.prefix + name,
            revision: found.revision,
            whole: { feed: collection.feed, uid: found.uid, refresh },
          },
        }
      );
    },
    refresh,
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

/** Creates the namespaces that do not exist, in the background; retries until it succeeds. */
export function startSystemNamespaces(
  names: readonly string[],
  { namespaces, filled }: { readonly namespaces: ConnectedNamespaces | undefined; readonly filled: Promise<void> },
  { environment: { clock, random }, log }: ServerContext,
  cleanup: CleanupStack,
): void {
  if (!namespaces) return;
  void startStartupWork(
    {
      name: 'system namespaces',
      clock,
      random,
      // Existing namespaces are unknown before.
      ready: filled,
      work: async () => {
        for (const name of names)
          if (!namespaces.find(name)) await namespaces.create(name, callUntil(clock.monotonicMs() + createTimeoutMs));
      },
      failed: (error) =>
        log.withName('namespaces').warn(
          // Meaning: One of the namespaces of --system-namespaces does not exist and cannot be created.
          'creating the system namespaces failed; retrying',
          'read the error; it goes on by itself when the cause is removed',
          { error: asError(error) },
        ),
    },
    cleanup,
  );
}
