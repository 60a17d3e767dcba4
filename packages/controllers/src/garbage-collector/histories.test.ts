/**
 * Objects come, own each other in circles too, and go in every way, while watches lag and break, objects are
 * unreadable for a while, writes meet others and terms end. Chance decides, from a seed; what must hold in the end is judged afterwards.
 */
import { expect, test } from '@jest/globals';
import { callUntil, type Random, seededRandom } from '@cluster-apiserver/base';
import type { KubeObject, ObjectMeta } from '@cluster-apiserver/model/kind';
import { deleteObject, get, type Outcome } from '@cluster-apiserver/registry';
import { StorageUnavailableError } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { disturbedStore } from '../../test/disturbed-store.ts';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createWorld, owned } from '../../test/world.ts';

interface Account {
  readonly object: KubeObject;
  /** All owners that it ever referred to. */
  readonly owners: Set<Account>;
  /** How it was deleted, if not by the collector. */
  deletedAs?: Policy;
}

interface Judged {
  readonly account: Account;
  /** As it is in the end. */
  readonly survived: KubeObject | undefined;
}

const policies = ['Background', 'Foreground', 'Orphan'] as const;
type Policy = (typeof policies)[number];

const call = callUntil(Number.POSITIVE_INFINITY);
const theCollectorCameFirst = (): void => {};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function history(random: Random): Promise<Judged[]> {
  const clock = fakeClock();
  const memory = memoryStore(fakeClock());
  const store = disturbedStore(memory);
  const world = createWorld({ store: memory, clock, call: () => call });
  const accounts: Account[] = [];
  const oneOf = <T>(all: readonly T[]): T | undefined => all[random.below(all.length)];
  let collecting = world.collect(store);
  let releaseWatch = (): void => {};
  let unlock = (): void => {};
  const read = async ({ object: { metadata } }: Account) => {
    const place = { namespace: metadata.namespace as string, name: metadata.name as string };
    return Promise.resolve(get(world.accounts, place, undefined, call)).catch(() => undefined);
  };
  /** An owner that is not being deleted: references to others have no guarantee. */
  const oneThatStays = async (): Promise<{ account: Account; now: Outcome } | undefined> => {
    const account = oneOf(accounts);
    const now = account && (await read(account));
    return account && now && now.object.metadata.deletionTimestamp === undefined ? { account, now } : undefined;
  };

  const steps: (() => Promise<unknown> | void)[] = [
    async () => {
      const found = [await oneThatStays(), await oneThatStays()].slice(0, random.below(3));
      const owners = new Set(found.flatMap((one) => one?.account ?? []));
      const references = [...owners].map(({ object }) => owned(object, { blockOwnerDeletion: random.below(3) > 0 }));
      accounts.push({ object: await world.account(`a-${accounts.length}`, { owners: references }), owners });
    },
    async () => {
      const [owner, dependent] = [await oneThatStays(), await oneThatStays()];
      if (!owner || !dependent) return;
      const reference = owned(owner.account.object, { blockOwnerDeletion: true });
      const change = (metadata: ObjectMeta): ObjectMeta => ({
        ...metadata,
        ownerReferences: [...(metadata.ownerReferences ?? []), reference],
      });
      const changed = world.change(dependent.account.object, change);
      await changed.then(() => dependent.account.owners.add(owner.account), theCollectorCameFirst);
    },
    async () => {
      const found = await oneThatStays();
      if (!found) return;
      const { account, now } = found;
      const policy = oneOf(policies) as Policy;
      const preconditions = { resourceVersion: String(now.revision) };
      const { namespace, name } = now.object.metadata as { namespace: string; name: string };
      const options = { namespace, dryRun: false, propagationPolicy: policy, preconditions };
      const deleted = deleteObject(world.accounts, name, options, call);
      await deleted.then(() => (account.deletedAs = policy), theCollectorCameFirst);
    },
    () => store.cut(new Error('cut')),
    () => {
      releaseWatch();
      releaseWatch = store.hold();
    },
    () => releaseWatch(),
    () => {
      unlock();
      const account = oneOf(accounts);
      if (account) unlock = store.lock(`/registry/serviceaccounts/n/${account.object.metadata.name}`);
      store.cut(new Error('read again'));
    },
    () => unlock(),
    () => {
      store.beforeWrite = () => {
        if (random.below(3) === 0) throw new StorageUnavailableError('no leader');
      };
    },
    async () => {
      releaseWatch();
      await collecting.stop();
      collecting = world.collect(store);
    },
    () => clock.advance(random.below(1_000)),
    turn,
  ];
  const weights = [6, 3, 4, 1, 1, 2, 1, 1, 1, 1, 4, 8];
  const lots = steps.flatMap((step, at) => Array.from({ length: weights[at] as number }, () => step));
  for (let at = 0; at < 200; at++) await (oneOf(lots) as (typeof steps)[number])();

  releaseWatch();
  unlock();
  store.beforeWrite = () => {};
  for (let quiet = 0; quiet < 100; quiet++) {
    // Only a cache that follows its watch notices the end of it.
    if (quiet === 20) store.cut(new Error('read again'));
    clock.advance(1_000);
    for (let turns = 0; turns < 10; turns++) await turn();
  }
  const judged = await Promise.all(
    accounts.map(async (account) => ({ account, survived: await world.read(account.object) })),
  );
  await collecting.stop();
  expect(clock.waiting).toBe(0);
  return judged;
}

test.each(Array.from({ length: 40 }, (_, seed) => ({ seed })))(
  'all is as it should be after history $seed',
  async ({ seed }) => {
    const judged = await history(seededRandom(seed));
    expect(judged.flatMap((one) => faultsOf(one, judged))).toEqual([]);
  },
);

function faultsOf({ account, survived }: Judged, all: readonly Judged[]): string[] {
  const { object, owners, deletedAs } = account;
  const name = object.metadata.name;
  const gone = new Set(all.filter((one) => !one.survived).map((one) => one.account));
  if (deletedAs) return survived ? [`${name} was deleted and is still there`] : [];
  if (!survived) {
    const took = [...owners].some((owner) => gone.has(owner) && owner.deletedAs !== 'Orphan');
    return took ? [] : [`${name} went although nobody took it along`];
  }
  const uids = new Set(all.flatMap((one) => one.survived?.metadata.uid ?? []));
  const left = survived.metadata.ownerReferences ?? [];
  const freed = [...owners].some((owner) => owner.deletedAs === 'Orphan');
  return [
    ...(survived.metadata.deletionTimestamp ? [`${name} is going and nobody deleted it`] : []),
    ...left.filter(({ uid }) => !uids.has(uid)).map((owner) => `${name} still names ${owner.name}, which is gone`),
    ...(owners.size > 0 && left.length === 0 && !freed ? [`${name} stayed although nobody left it behind`] : []),
  ];
}
