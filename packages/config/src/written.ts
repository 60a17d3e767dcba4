import { parseDuration } from '@cluster-apiserver/base';
import { type Integer, isRawNumber } from '@cluster-apiserver/model';
import type { Findings } from './findings.ts';
import type { ListSchema, ObjectSchema, Schema } from './schema.ts';
import { notADuration, notInt32 } from './structure.ts';

/** The parts of an object, each as its field is declared. */
export type WrittenFields<Declared> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Schema ? Written<Declared[Name]> : never;
};

/**
 * A part of what an operator wrote, and where it stands. Reading it notes what is wrong and goes on, so that all faults
 * of a file are told at once. A fault names its place and never repeats what was written there: it may be a secret.
 * What is of another type than declared reads as absent: the schema has refused it already.
 */
export class Written<S extends Schema = Schema> {
  readonly path: string;
  readonly findings: Findings;
  readonly #schema: S;
  readonly #value: unknown;

  constructor(schema: S, value: unknown, path: string, findings: Findings) {
    this.#schema = schema;
    this.#value = value ?? undefined; // null says nothing
    this.path = path;
    this.findings = findings;
  }

  /** For a schema of its own, and for what nobody declared. */
  get value(): unknown {
    return this.#value;
  }

  get absent(): boolean {
    return this.#value === undefined;
  }

  wrong(problem: string): void {
    this.findings.add(this.path, problem);
  }

  required(detail = ''): void {
    this.wrong(detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  /** For values that are no secrets: to see one helps to find its place. */
  invalid(value: unknown, detail: string): void {
    this.wrong(invalidText(value, detail));
  }

  /** What is wrong with a file that this one names, and what was found there. */
  invalidFile(file: string, inner: Parameters<Findings['include']>[0]): void {
    this.findings.include(inner, (text) => `${this.path}: ${invalidText(file, text)}`);
  }

  /** Each of the declared fields, written or not. */
  fields(): S extends ObjectSchema<infer Declared> ? WrittenFields<Declared> : never {
    const { properties } = this.#schema as ObjectSchema;
    const found = isObject(this.#value) ? this.#value : {};
    const children = Object.entries(properties).map(([name, schema]) => [
      name,
      this.#child(schema, name, Object.hasOwn(found, name) ? found[name] : undefined),
    ]);
    // One for each of the properties, of the schema that is declared for it.
    return Object.fromEntries(children) as S extends ObjectSchema<infer Declared> ? WrittenFields<Declared> : never;
  }

  items(): readonly (S extends ListSchema<infer Item> ? Written<Item> : never)[] {
    const { items } = this.#schema as ListSchema;
    const found: readonly unknown[] = Array.isArray(this.#value) ? this.#value : [];
    const written = found.map((item, index) => new Written(items, item, `${this.path}[${index}]`, this.findings));
    return written as (S extends ListSchema<infer Item> ? Written<Item> : never)[]; // each is of the declared items
  }

  text(): string | undefined {
    return typeof this.#value === 'string' ? this.#value : undefined;
  }

  fact(): boolean | undefined {
    return typeof this.#value === 'boolean' ? this.#value : undefined;
  }

  int32(): number | undefined {
    if (!isNumber(this.#value)) return undefined;
    if (typeof this.#value === 'number' && this.#value === (this.#value | 0)) return this.#value;
    this.wrong(notInt32);
    return undefined;
  }

  durationMs(): number | undefined {
    const text = this.text();
    const parsed = text === undefined ? undefined : parseDuration(text);
    if (text !== undefined && parsed === undefined) this.wrong(notADuration);
    return parsed;
  }

  #child(schema: Schema, name: string, value: unknown): Written {
    return new Written(schema, value, this.path === '' ? name : `${this.path}.${name}`, this.findings);
  }
}

const invalidText = (value: unknown, detail: string): string => `Invalid value: ${JSON.stringify(value)}: ${detail}`;

const isNumber = (value: unknown): value is Integer => typeof value === 'number' || isRawNumber(value);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
