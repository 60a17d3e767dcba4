/** The patch is not of the form of its type, or contradicts itself or its schema. */
export class PatchFormError extends Error {
  override readonly name = 'PatchFormError';
}

/** The patch is valid but cannot be applied to this object. */
export class PatchFailedError extends Error {
  override readonly name = 'PatchFailedError';
}

/** A `test` operation of a JSON patch failed. */
export class PatchTestFailedError extends PatchFailedError {}

/** More operations than one patch may have. */
export class TooManyOperationsError extends Error {
  override readonly name = 'TooManyOperationsError';
}
