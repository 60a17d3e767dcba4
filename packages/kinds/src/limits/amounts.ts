import { map, quantity } from '@cluster-apiserver/model/schema';

export const core = { group: '', version: 'v1' };

/** How much of each resource. */
export const amounts = map(quantity);
