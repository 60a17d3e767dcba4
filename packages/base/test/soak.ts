/** Whether `npm run soak` runs the tests. It asks for the full counts, for which continuous integration has no time. */
export const soaking = process.env['SOAK'] === '1';

/** How often a test does what it does: `ci` in `npm test`, `soak` in `npm run soak`. Docs/reliability.md lists them. */
export const repetitions = (counts: { readonly ci: number; readonly soak: number }): number =>
  soaking ? counts.soak : counts.ci;
