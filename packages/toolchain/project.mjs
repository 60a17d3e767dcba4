import path from 'node:path';
import { fileURLToPath } from 'node:url';

// These programs run before anything is installed, on whatever Node started them: no packages, no TypeScript.

/** The checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url));
/** What was fetched or built and may be deleted at any time. */
export const cache = path.join(root, '.cache');
/** Test and bench kits that may lie beside the checkout; nothing breaks without them. */
export const shared = path.join(root, '..', 'shared');

export const binary = (name) => path.join(root, 'node_modules', '.bin', name);

/** A failure that a sentence explains: it is shown without a stack. */
export class Failure extends Error {}

/** Runs a program of ours to its exit code. */
export async function main(program) {
  try {
    process.exitCode = await program(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error);
    process.exitCode = 1;
  }
}
