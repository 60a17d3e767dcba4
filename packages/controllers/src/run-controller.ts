import type { Signer } from '@cluster-apiserver/certificates';
import { asError, type Clock, type Random } from '@cluster-apiserver/base';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import {
  type ApiChange,
  type CachedObject,
  isStorageUnavailable,
  type LiveApi,
  type Resource,
} from '@cluster-apiserver/registry';
import { type Call, type ItemChange, type Revision, textOfItemKey } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import type { ObjectIdentity } from './change-object.ts';
import type { ControllerMeasures } from './controller-measures.ts';
import { callsOf, followApi, isLoaded, itemsWithin, unreadableCount } from './memory.ts';
import { createPace, type Pace } from './pace.ts';
import { createPasses } from './passes.ts';
import { RetryQueue } from './retry-queue.ts';

/** The writer of controllers that run elsewhere in Kubernetes, in managedFields, as there. */
export const manager = 'kube-controller-manager';

/** What every controller receives. */
export interface ControllerOptions {
  readonly api: LiveApi;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts when this replica loses leadership. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly measures: ControllerMeasures;
}

export interface ServedElsewhere {
  /** Whether all other replicas serve the kinds of all definitions up to this revision. */
  readonly isServed: (revision: Revision) => boolean;
  /** Calls back when that may have changed, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void;
}

/** What some controllers need of the server besides its objects. */
export interface ControllerServices {
  /** Creates an object as a request of the server to itself: with admission, and audited. */
  readonly create: (resource: Resource, object: KubeObject, call: Call) => Promise<unknown>;
  /** With which clients verify the server, in PEM; undefined if they are unknown. */
  readonly rootCertificates: string | undefined;
  /** Signs the token of a secret; undefined without a signing key. */
  readonly signSecretToken: ((account: NamespacedIdentity, secretName: string) => Promise<string>) | undefined;
  /** What other replicas serve; undefined where there is no telling. */
  readonly servedElsewhere: ServedElsewhere | undefined;
  /** Signs certificates of clients, for at most this time; undefined if the server has no authority. */
  readonly clientSigner: { readonly signer: () => Signer; readonly durationMs: number } | undefined;
}

interface NamespacedIdentity extends ObjectIdentity {
  readonly namespace: string;
}

/** A controller that reconciles the objects of one kind, each by its key. */
export interface Controller {
  /** How many objects are reconciled at a time. */
  readonly workers: number;
  /** After failures of an object. */
  readonly pauses?: { readonly firstMs: number; readonly maxMs: number };
  /** The resource that the keys are of. */
  readonly reconciled: Resource;
  /** The others whose changes it follows. It runs when they are loaded. */
  readonly alsoFollowed?: readonly Resource[];
  /**
   * Which kinds it follows besides, of those that are served at each time. Some may be in an etcd that is unavailable for long,
   * so it looks itself which are loaded.
   */
  readonly followsKind?: (kind: Kind) => boolean;
  readonly start: (context: ControllerContext) => Reconciler;
}

export interface ControllerContext {
  readonly enqueue: (key: string) => void;
  /** Visits the key of every object of the reconciled resource. */
  readonly forEachKey: (visit: (key: string) => void) => Promise<void>;
  /** A call to the storage that ends with the term of leadership. */
  readonly call: () => Call;
  readonly pace: Pace;
}

export interface Reconciler {
  /** Brings one object to its desired state. An error makes it run again after a pause. */
  readonly reconcile: (key: string) => Promise<void>;
  readonly changed: (resource: Resource, change: ItemChange<CachedObject>) => void;
  /** Enqueues what has to be reconciled: at the start, and after changes were missed. */
  readonly sync: () => Promise<void>;
  /**
   * Enqueues what waits for kinds, after some have come or gone, or will not come. Without it everything is synced when a
   * followed one came or went.
   */
  readonly kindsChanged?: (change: ApiChange) => void;
}

/** First failures are nearly always conflicts with concurrent writers. */
const silentTries = 3;

/** Logs that reconciling an object failed; it is tried again after a pause. */
export function logFailure(log: Log, object: string, { tries, cause }: Failure): void {
  const error = asError(cause);
  if (tries > silentTries && !isStorageUnavailable(cause))
    log.warn(
      // Meaning: A controller cannot do its work for this object: nothing is cleaned up, counted or approved for it.
      // Other objects are not affected.
      'reconciling an object failed; retrying',
      'read the error; it goes on by itself when the cause is removed',
      { object, tries, error },
    );
  else log.debug(2, 'reconciling an object failed; retrying', { object, tries, error });
}

interface Failure {
  readonly tries: number;
  readonly cause: unknown;
}

/** For failures that are nearly always those of the storage. */
const storagePauses = { firstMs: 50, maxMs: 5_000 };

/**
 * Runs a controller until the signal aborts, and resolves when no work is running any more. Rejects with what `changed`
 * or `sync` throws.
 */
export async function runController(
  { api, clock, random, signal, log, measures }: ControllerOptions,
  { workers, pauses = storagePauses, reconciled, alsoFollowed = [], followsKind = () => false, start }: Controller,
): Promise<void> {
  const pace = createPace(clock, signal);
  const queue = new RetryQueue<string>({
    clock,
    random,
    workers,
    pauses,
    work: (key) => reconciler.reconcile(key),
    failed: (key, failure) => {
      measures.retried();
      logFailure(log, textOfItemKey(key), failure);
    },
    measures,
  });
  const forEachKey = (visit: (key: string) => void): Promise<void> =>
    pace.forEach(itemsWithin(reconciled.collection.view(), ''), ({ key }) => visit(key));
  const reconciler = start({ enqueue: queue.add, forEachKey, call: callsOf(clock, signal), pace });
  const measureUnreadable = (): void => measures.unreadable(unreadableCount(reconciled));
  const passes = createPasses(clock, signal);
  const awaited = new Set([reconciled, ...alsoFollowed]);
  const unfollow = followApi(api, (resource) => awaited.has(resource) || followsKind(resource.kind), {
    changed: (resource, change) => {
      const isUnreadable = change.previous?.unreadable || change.current?.unreadable;
      if (resource === reconciled && isUnreadable) measureUnreadable();
      reconciler.changed(resource, change);
    },
    interrupted: passes.request,
    kindsChanged: (change) => {
      if (reconciler.kindsChanged) reconciler.kindsChanged(change);
      else if (change.came.length + change.went.length > 0) passes.request();
    },
    failed: passes.fail,
  });
  passes.request();
  try {
    await passes.run(async () => {
      // Before the collections are loaded there is nothing to sync, and the load interrupts the followers.
      if (!isLoaded([...awaited])) return;
      measureUnreadable();
      await reconciler.sync();
    });
  } finally {
    unfollow();
    measures.unreadable(0);
    await queue.close();
  }
}
