import type { SyncTask } from '@cluster-apiserver/base';
import { compileSchemaPattern } from '@cluster-apiserver/expressions';
import type { Pattern } from '@cluster-apiserver/model/schema';

/**
 * Instructions of all patterns together, of which each takes about 100 bytes for as long as the kind is served. Those of
 * official definitions have some thousands.
 */
const instructionsMax = 250_000;

/** The patterns of a schema. Most schemas have the same ones in many places. */
export class SchemaPatterns {
  readonly #compiled = new Map<string, Pattern>();
  #instructionsLeft = instructionsMax;

  /** Throws an Error that says what is wrong with it. */
  *compile(source: string): SyncTask<Pattern> {
    const known = this.#compiled.get(source);
    if (known) return known;
    if (this.#instructionsLeft <= 0) throw new Error('the patterns of the schema repeat too much');
    // The largest takes some milliseconds.
    yield;
    const pattern = compileSchemaPattern(source);
    this.#instructionsLeft -= pattern.size;
    this.#compiled.set(source, pattern);
    return pattern;
  }
}
