import type { Clock } from '@cluster-apiserver/base';
import type { Lease } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { itemKey, StorageUnavailableError, type View } from '@cluster-apiserver/storage';

/** Namespace, label and value by which kube-apiserver marks the Leases of its replicas. */
export const leaseNamespace = 'kube-system';
export const identityLabel = 'apiserver.kubernetes.io/identity';
export const identityLabelValue = 'kube-apiserver';
export const hostnameLabel = 'kubernetes.io/hostname';

/** Prefix of the annotations in which a replica publishes facts about itself. */
const factPrefix = 'platform.io/';
/** Every Lease of this server has it, and none of kube-apiserver. */
export const versionFact = 'version';

/** Between renewals. */
export const renewalMs = 10_000;
/** Two renewals may fail, or be late, before a replica counts as dead. */
export const leaseDurationSeconds = 30;

/** A replica as its Lease shows it. */
export interface Replica {
  /** The name of its Lease. */
  readonly identity: string;
  readonly holderIdentity: string;
  /** Undefined if it is no value of a label. */
  readonly hostname: string | undefined;
  readonly renewTime: string | undefined;
  /** How far ahead its clock was at the last renewal that was seen, less the time that the event took. */
  readonly clockOffsetMs: number | undefined;
  /** What it publishes. */
  readonly facts: Readonly<Record<string, string>>;
}

interface SeenLease {
  readonly stored: StoredObject;
  readonly replica: Replica;
  readonly durationMs: number;
  /** As `#livedMs` was when this state was seen first. */
  readonly seenMs: number;
}

/**
 * The Leases of replicas, as the watch cache sees them. A Lease has expired when it did not change while this replica
 * renewed its own for as long as that Lease lasts, and saw its renewals in the watch cache. So neither a difference of
 * clocks, nor a pause of this process, nor an outage of etcd makes others look dead.
 */
export class ReplicaLeases {
  readonly #resource: Resource;
  readonly #ownName: string;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #seen = new Map<string, SeenLease>();
  readonly #unsubscribe: () => void;
  /** Time during which this replica has renewed its Lease. */
  #livedMs = 0;
  #renewedMs: number | undefined;
  /** Whether changes were missed. */
  #isOutdated = true;
  #isNotifying = false;

  /** `changed` is called some time after a Lease of a replica has changed, also if it was only renewed. */
  constructor(resource: Resource, ownName: string, clock: Clock, changed: () => void) {
    this.#resource = resource;
    this.#ownName = ownName;
    this.#clock = clock;
    this.#changed = changed;
    this.#unsubscribe = resource.collection.subscribe({
      onChange: ({ key, current }) => this.#see(key, current, true),
      onReset: () => {
        this.#isOutdated = true;
      },
    });
  }

  /** The replicas that live, or died less than the duration of their Lease ago, by name. */
  live(): readonly Replica[] {
    this.#reload();
    const live = [...this.#seen.values()].flatMap((seen) =>
      versionFact in seen.replica.facts && !this.#isExpired(seen) ? seen.replica : [],
    );
    return live.sort((one, other) => (one.identity < other.identity ? -1 : 1));
  }

  /** The Leases of replicas that are gone; of those of kube-apiserver, too. */
  expired(): readonly StoredObject[] {
    this.#reload();
    return [...this.#seen.values()].flatMap((seen) => (this.#isExpired(seen) ? seen.stored : []));
  }

  close(): void {
    this.#unsubscribe();
  }

  #isExpired({ durationMs, seenMs, stored }: SeenLease): boolean {
    return stored.name !== this.#ownName && this.#livedMs - seenMs > durationMs;
  }

  #see(key: string, item: CachedObject | undefined, isNew: boolean): void {
    if (!key.startsWith(prefix)) return;
    const isReplica = item && !item.unreadable && item.labels?.[identityLabel] === identityLabelValue;
    if (!isReplica) {
      if (this.#seen.delete(key)) this.#notify();
      return;
    }
    if (this.#seen.get(key)?.stored.revision === item.revision) return;
    const lease = asLease(item.object);
    this.#seen.set(key, {
      stored: item,
      replica: replicaOf(item, lease, isNew ? this.#clock.now() : undefined),
      durationMs: (lease.spec.leaseDurationSeconds ?? 0) * 1_000,
      seenMs: this.#livedMs,
    });
    if (item.name === this.#ownName) this.#noteRenewal();
    this.#notify();
  }

  /** Of a longer pause only the usual one counts: the others could not renew their Leases either, or had no time yet. */
  #noteRenewal(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#livedMs += Math.min(nowMs - (this.#renewedMs ?? nowMs), renewalMs);
    this.#renewedMs = nowMs;
  }

  /** In a turn of its own: what listeners do is no part of a change of the watch cache. */
  #notify(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    this.#clock.soon(() => {
      this.#isNotifying = false;
      this.#changed();
    });
  }

  /** While the collection is not served, the Leases stay as they were seen. */
  #reload(): void {
    if (!this.#isOutdated) return;
    const view = this.#readView();
    if (!view) return;
    this.#isOutdated = false;
    const gone = new Set(this.#seen.keys());
    view.items.visit(prefix, (item) => {
      if (!item.key.startsWith(prefix)) return false;
      gone.delete(item.key);
      this.#see(item.key, item, false);
      return true;
    });
    for (const key of gone) this.#see(key, undefined, true);
  }

  #readView(): View<CachedObject> | undefined {
    try {
      return this.#resource.collection.view();
    } catch (error) {
      if (error instanceof StorageUnavailableError) return undefined;
      throw error;
    }
  }
}

const prefix = itemKey(`${leaseNamespace}/`);

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored objects were decoded by the schema of their kind
const asLease = (object: KubeObject): Lease => object as Lease;

function replicaOf(item: StoredObject, { metadata, spec }: Lease, nowMs: number | undefined): Replica {
  const { renewTime } = spec;
  return {
    identity: item.name,
    holderIdentity: spec.holderIdentity ?? '',
    hostname: metadata.labels?.[hostnameLabel],
    renewTime: renewTime ?? undefined,
    clockOffsetMs: renewTime && nowMs !== undefined ? Date.parse(renewTime) - nowMs : undefined,
    facts: readFacts(metadata.annotations ?? {}),
  };
}

const readFacts = (annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(annotations).flatMap(([key, value]) =>
      key.startsWith(factPrefix) ? [[key.slice(factPrefix.length), value]] : [],
    ),
  );

export const annotationsOf = (facts: ReadonlyMap<string, string>): Readonly<Record<string, string>> =>
  Object.fromEntries([...facts].map(([key, value]) => [factPrefix + key, value]));
