/**
 * The index of roles and bindings, kept up to date from the watch cache. It is built once from all of them, in slices,
 * while changes queue up; from then on each change is one delta. A reload builds the next index completely before it
 * replaces this one. Until the objects of the present history are loaded there is no index, and it authorizes no request.
 */
import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { type CurrentPolicy, PolicyIndex } from '@cluster-apiserver/gates';
import { rbacGroup } from '@cluster-apiserver/model';
import type { LiveApi, CachedObject, Resource } from '@cluster-apiserver/registry';
import { type Call, textOfItemKey } from '@cluster-apiserver/storage';
import { followAll, isLoaded, itemsWithin, onePerFeed } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';

export interface FollowPolicyOptions {
  /** Those of the four kinds. */
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  /** A change could not be indexed. The index is rebuilt. */
  readonly failed: (error: unknown) => void;
}

const kindNames: readonly string[] = ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'];

/** The resources of roles and bindings; none where not all of them are served. */
export function policyResources(api: LiveApi): readonly Resource[] {
  const found = kindNames.flatMap((kind) => api.byGroupKind(rbacGroup, kind) ?? []);
  return found.length === kindNames.length ? found : [];
}

/** Building can only fail because of an internal error, and may do so again. */
const rebuildDelayMs = 1_000;

export class FollowedPolicy {
  readonly #options: FollowPolicyOptions;
  readonly #followed: readonly Resource[];
  readonly #unfollow: () => void;
  #index: PolicyIndex | undefined;
  /** The index under construction, and the changes that it has not seen yet. */
  #next: { readonly index: PolicyIndex; readonly changes: (() => void)[] } | undefined;
  #isBuildDue = false;
  #building: Promise<void> | undefined;
  #cancelRebuild = (): void => {};
  #isClosed = false;

  constructor(options: FollowPolicyOptions) {
    this.#options = options;
    this.#followed = options.resources;
    this.#unfollow = followAll(this.#followed, {
      changed: ({ kind }, { key, current }) => this.#noteChange(kind.kind, key, current),
      interrupted: () => {
        if (!isLoaded(this.#followed)) this.#index = undefined;
        this.#requestBuild();
      },
      failed: (error) => {
        options.failed(error);
        this.#index = undefined;
        this.#requestBuild();
      },
    });
    this.#requestBuild();
  }

  // Bound, because both are passed on alone.
  /** Undefined until everything has been read. */
  readonly current: CurrentPolicy = () => this.#index;
  /** Resolves when everything is known that was written before. */
  readonly refresh = async (call: Call): Promise<void> =>
    void (await Promise.all(
      onePerFeed(this.#followed).map(async ({ collection }) => collection.waitUntilFresh(undefined, call)),
    ));

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRebuild();
    this.#unfollow();
    await this.#building;
  }

  #noteChange(kind: string, key: string, item: CachedObject | undefined): void {
    if (this.#index) setItem(this.#index, kind, key, item);
    const underConstruction = this.#next?.index;
    if (underConstruction) this.#next?.changes.push(() => setItem(underConstruction, kind, key, item));
  }

  #requestBuild(): void {
    const { clock, failed } = this.#options;
    this.#isBuildDue = true;
    this.#building ??= this.#build()
      .catch((error: unknown) => {
        this.#next = undefined;
        failed(error);
        this.#cancelRebuild = clock.after(rebuildDelayMs, () => this.#requestBuild());
      })
      .finally(() => {
        this.#building = undefined;
      });
  }

  async #build(): Promise<void> {
    const { clock } = this.#options;
    while (this.#isBuildDue && !this.#isClosed) {
      // In a turn of its own, after all collections have taken over the loaded objects.
      await new Promise<void>((resolve) => clock.soon(resolve));
      this.#isBuildDue = false;
      // The load interrupts the followers, and that is the time to build.
      if (!isLoaded(this.#followed)) return;
      const index = new PolicyIndex();
      const changes: (() => void)[] = [];
      this.#next = { index, changes };
      await runTask(clock, undefined, fillIndex(index, this.#followed));
      for (const change of changes) change();
      this.#next = undefined;
      if (!this.#isBuildDue) this.#index = index;
    }
  }
}

const itemsPerStep = 64;

function* fillIndex(index: PolicyIndex, resources: readonly Resource[]): SyncTask<void> {
  // All views are taken in one turn, so they have the same revision.
  const views = resources.map(({ kind, collection }) => ({ kind: kind.kind, view: collection.view() }));
  let items = 0;
  for (const { kind, view } of views)
    for (const item of itemsWithin(view, '')) {
      setItem(index, kind, item.key, item);
      if (++items % itemsPerStep === 0) yield;
    }
}

/** An unreadable role or binding grants nothing. */
function setItem(index: PolicyIndex, kind: string, key: string, item: CachedObject | undefined): void {
  const path = textOfItemKey(key);
  const slash = path.indexOf('/');
  const name = path.slice(slash + 1);
  const namespace = slash < 0 ? undefined : path.slice(0, slash);
  if (kind === 'Role' || kind === 'ClusterRole') {
    if (!item) return index.deleteRole(namespace, name);
    const rules = item.unreadable ? undefined : (requireKind(item.object, kind).rules ?? []);
    return index.setRole({ namespace, name, rules });
  }
  if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return;
  if (!item || item.unreadable) return index.deleteBinding(namespace, name);
  const { roleRef, subjects = [] } = requireKind(item.object, kind);
  index.setBinding({ namespace, name, roleRef, subjects });
}
