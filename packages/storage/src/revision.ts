declare const revisionBrand: unique symbol;

/**
 * A point in the history of the store, as etcd counts it. Branded, so that a count or a limit cannot be passed in its
 * place. A double holds it exactly up to 2^53, which 100,000 writes a second reach after 2,800 years.
 */
export type Revision = number & { readonly [revisionBrand]: true };

export const revision = (value: number): Revision => value as Revision;
