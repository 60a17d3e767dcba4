import { type Clock, seededRandom } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model';
import type { Store } from '@cluster-apiserver/storage';
import { openRegistry, type Registry } from '../src/index.ts';

/** A registry of one kind, which reports nothing. */
export const openTestRegistry = (kind: Kind, store: Store, clock: Clock): Registry =>
  openRegistry({
    kinds: [kind],
    store,
    keyPrefix: '/registry',
    clock,
    random: seededRandom(1),
    report: () => {},
  });
