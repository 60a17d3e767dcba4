/** Wraps thrown values that are not errors. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** The message of whatever was thrown, for a log line or a finding. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of an error of Node, such as ENOENT. Not `instanceof`: an error of another realm has a code too. */
export function errorCode(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
