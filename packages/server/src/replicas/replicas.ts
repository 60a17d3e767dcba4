import { hash } from 'node:crypto';
import {
  asError,
  awaitWithin,
  backoff,
  callUntil,
  type CleanupStack,
  onAbort,
  sleep,
  toSyncTask,
} from '@cluster-apiserver/base';
import type { Namespaces } from '@cluster-apiserver/gates';
import { formatMicroTime, StatusError } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { labelValueRule } from '@cluster-apiserver/model/validation';
import {
  create,
  deleteObject,
  isStorageUnavailable,
  type LiveApi,
  patch,
  type StoredObject,
} from '@cluster-apiserver/registry';
import { type Call, type Revision, StorageUnavailableError } from '@cluster-apiserver/storage';
import type { Environment } from '../environment.ts';
import type { ServerContext } from '../configuration/context.ts';
import {
  annotationsOf,
  hostnameLabel,
  identityLabel,
  identityLabelValue,
  leaseDurationSeconds,
  leaseNamespace,
  renewalMs,
  type Replica,
  ReplicaLeases,
  versionFact,
} from './replica-leases.ts';

/** What the replicas of this server know of each other, by a Lease of each that it renews while it lives. */
export interface Replicas {
  /** The name of the Lease of this replica. */
  readonly identity: string;
  /** All replicas that serve requests, as far as the watch cache knows; this one once its Lease is there. */
  live(): readonly Replica[];
  /** Publishes a fact about this replica at once; facts that come while a write is in flight share the next one. */
  publish(key: string, value: string): void;
  /**
   * Calls back when a replica came, went or published something, and with each renewal, until the returned function is
   * called. A listener that cannot read what is stored at the time is called again with the next renewal.
   */
  onChange(listener: () => void): () => void;
}

export interface ReplicaOptions {
  readonly api: LiveApi;
  /** Undefined if namespaces are not served. */
  readonly namespaces: Namespaces | undefined;
  /** Resolves when the watch cache has been filled for the first time. */
  readonly filled: Promise<void>;
  readonly version: string;
  /** The facts of each renewal, made when it is written at that revision of the watch cache. */
  readonly facts: (revision: Revision) => Readonly<Record<string, string>>;
}

/** The part of the context that this needs. */
export interface ReplicaContext extends Pick<ServerContext, 'serverId' | 'log'> {
  readonly environment: Pick<Environment, 'clock' | 'random' | 'hostname'>;
}

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'kube-apiserver';

/** Less than the duration of the Lease by far, so that a hanging write is tried again in time. */
const callTimeoutMs = 5_000;
/** A stopping replica does not wait long for etcd: its Lease expires. */
const releaseTimeoutMs = 1_000;
const pauses = { firstMs: 500, maxMs: renewalMs / 2 };

/**
 * Keeps the Lease of this replica in the background, and deletes it when the cleanup closes it. The writes are those of
 * the server itself: without admission and audit events. Undefined if Leases are not served.
 */
export function openReplicas(
  { api, namespaces, filled, version, facts }: ReplicaOptions,
  { environment: { clock, random, hostname }, serverId, log }: ReplicaContext,
  cleanup: CleanupStack,
): Replicas | undefined {
  const leases = api.byGroupKind('coordination.k8s.io', 'Lease');
  if (!leases) return undefined;
  // Of this process: another one with the same host name, such as the one after a crash, is another replica.
  const identity = `apiserver-${hash('sha256', serverId).slice(0, hashCharacters)}`;
  const holderIdentity = `${identity}_${serverId}`;
  const published = new Map<string, string>();
  const listeners = new Set<() => void>();
  const seen = new ReplicaLeases(leases, identity, clock, () => {
    for (const listener of listeners) callUnlessUnavailable(listener);
  });
  cleanup.defer('Leases of replicas', () => seen.close());

  const closing = new AbortController();
  const { signal } = closing;
  const callFor = (timeoutMs: number): Call => callUntil(clock.monotonicMs() + timeoutMs);
  const options = { namespace: leaseNamespace, dryRun: false, manager, warn: () => {}, unknownFields: () => {} };
  const next = (current: KubeObject): KubeObject => ({
    ...current,
    metadata: {
      ...current.metadata,
      labels: { ...current.metadata.labels, [identityLabel]: identityLabelValue, ...labelOf(hostname) },
      annotations: {
        ...current.metadata.annotations,
        ...annotationsOf(
          new Map([...Object.entries(facts(leases.collection.currentRevision)), ...published, [versionFact, version]]),
        ),
      },
    },
    spec: { holderIdentity, leaseDurationSeconds, renewTime: formatMicroTime(clock.now()) },
  });
  const createLease = async (call: Call): Promise<void> => {
    if (namespaces && !namespaces.find(leaseNamespace)) await namespaces.create(leaseNamespace, call);
    const names = { kind: leases.kind.kind, apiVersion: leases.kind.apiVersion };
    const draft = next({ ...names, metadata: { name: identity, namespace: leaseNamespace } });
    await create(
      leases,
      decode(leases.kind.schema, draft, () => {}),
      options,
      call,
    );
  };
  /** Another writer may have deleted it, such as another replica while this process stood still. */
  const renew = async (): Promise<void> => {
    const call = callFor(callTimeoutMs);
    const change = toSyncTask(next);
    await patch(leases, identity, { ...options, change }, call).catch((error: unknown) => {
      if (isNotFound(error)) return createLease(call);
      throw error;
    });
  };
  const remove = async (name: string, preconditions: object, call: Call): Promise<void> => {
    await deleteObject(leases, name, { namespace: leaseNamespace, dryRun: false, preconditions }, call).catch(
      (error: unknown) => {
        if (!isNotFound(error)) throw error;
      },
    );
  };
  /** Only in the state that has expired; another replica may have been faster. */
  const collect = async ({ name, uid, revision }: StoredObject): Promise<void> =>
    remove(name, { uid, resourceVersion: String(revision) }, callFor(callTimeoutMs));

  let isOutdated = false;
  let wake = (): void => {};
  const renewAlways = async (): Promise<void> => {
    await Promise.race([filled, new Promise<void>((resolve) => onAbort(signal, resolve))]);
    const nextPause = backoff(pauses, random);
    let failures = 0;
    while (!signal.aborted) {
      isOutdated = false;
      let pauseMs = renewalMs;
      try {
        await renew();
        await Promise.all(seen.expired().map(collect));
        nextPause.reset();
        failures = 0;
      } catch (error) {
        pauseMs = nextPause.nextMs();
        // An outage has a line of its own.
        if (++failures === failuresReported && !isStorageUnavailable(error))
          log.withName('replicas').warn(
            // Meaning: Other replicas will take this one for dead. They then wait for it no longer, for example when
            // a definition is established.
            'cannot renew the Lease of this replica; retrying',
            'read the error: rights of the user in etcd, the key that encrypted the Lease, or policies for leases in kube-system',
            { error: asError(error) },
          );
      }
      if (isOutdated && failures === 0) continue;
      const waiting = new AbortController();
      wake = () => waiting.abort();
      const stopListening = onAbort(signal, wake);
      await sleep(clock, pauseMs, waiting.signal).catch(() => {}); // a fact or the end wakes it
      stopListening();
    }
  };
  const renewing = renewAlways();
  cleanup.defer('Lease of this replica', async () => {
    closing.abort(new Error('the server is closing'));
    const call = callFor(releaseTimeoutMs);
    // Otherwise it expires.
    await awaitWithin(clock, call, renewing)
      .then(() => remove(identity, {}, call))
      .catch(() => {});
  });
  return {
    identity,
    live: () => seen.live(),
    publish: (key, value) => {
      if (published.get(key) === value) return;
      published.set(key, value);
      isOutdated = true;
      wake();
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function callUnlessUnavailable(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) throw error;
  }
}

/** The first failures are conflicts with other writers. */
const failuresReported = 3;

/** 128 bits, as in Kubernetes. */
const hashCharacters = 32;

const labelOf = (hostname: string): Readonly<Record<string, string>> =>
  labelValueRule(hostname).length === 0 ? { [hostnameLabel]: hostname } : {};

const isNotFound = (error: unknown): boolean => error instanceof StatusError && error.reason === 'NotFound';
