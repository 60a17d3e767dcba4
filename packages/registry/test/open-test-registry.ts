import { type Clock, seededRandom } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { FollowedStore } from '@cluster-apiserver/storage';
import { openRegistry, type Registry, StoredKinds } from '../src/index.ts';

/** A registry that reports nothing. */
export const openTestRegistry = (
  kinds: Kind | readonly Kind[],
  store: FollowedStore,
  clock: Clock,
  random = seededRandom(1),
): Registry =>
  openRegistry({
    kinds: [kinds].flat(),
    storedKinds: new StoredKinds('/registry'),
    store,
    clock,
    random,
    report: () => {},
  });
