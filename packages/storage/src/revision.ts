declare const revisionBrand: unique symbol;

/**
 * A revision of the store, as etcd counts it. The brand prevents passing a count or a limit instead. A double holds it
 * exactly up to 2^53, which 100,000 writes a second reach after 2,800 years.
 */
export type Revision = number & { readonly [revisionBrand]: true };

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The brand exists only in the type.
export const revision = (value: number): Revision => value as Revision;

/** The revision before the first write. */
export const zeroRevision = revision(0);
