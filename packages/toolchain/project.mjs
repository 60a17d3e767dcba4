import path from 'node:path';
import { fileURLToPath } from 'node:url';

// These programs run before anything is installed, on any Node version: no npm packages, no TypeScript.

/** Root of the checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url));
/** Fetched and built files; may be deleted at any time. */
export const cache = path.join(root, '.cache');

export const binary = (name) => path.join(root, 'node_modules', '.bin', name);

/** An error whose message suffices: it is printed without a stack. */
export class Failure extends Error {}

/** Runs the program and sets the exit code that it returns. */
export async function main(program) {
  try {
    process.exitCode = await program(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error);
    process.exitCode = 1;
  }
}
