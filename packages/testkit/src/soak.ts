/** Whether `npm run soak` runs the tests, with the full counts, for which CI has no time. */
export const soaking = process.env['SOAK'] === '1';

/** The repetitions of a test: `ci` in `npm test`, `soak` in `npm run soak`. docs/testing.md lists them. */
export const repetitions = (counts: { readonly ci: number; readonly soak: number }): number =>
  soaking ? counts.soak : counts.ci;
