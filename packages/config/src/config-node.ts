import { parseDuration } from '@cluster-apiserver/base';
import { formatPath, type Path } from '@cluster-apiserver/model';
import { type Integer, isJsonObject, isRawNumber } from '@cluster-apiserver/model/json';
import type { Findings } from './findings.ts';
import type { Fields, ListSchema, ObjectSchema, Schema } from './schema.ts';
import { notADuration, notInt32 } from './structure.ts';

/** The nodes of the declared fields of an object. */
export type ConfigNodeFields<Declared extends Fields> = {
  readonly [Name in keyof Declared]: ConfigNode<Declared[Name]>;
};

/**
 * A node of a configuration file: its value, path and schema. Readers add problems to the findings and continue, so that
 * all problems of a file are reported at once. Messages name the path; they repeat values only through `addInvalid`.
 * A value of a wrong type reads as absent: schema validation has already reported it.
 */
export class ConfigNode<S extends Schema = Schema> {
  readonly path: Path;
  readonly findings: Findings;
  readonly #schema: S;
  readonly #value: unknown;

  constructor(schema: S, value: unknown, path: Path, findings: Findings) {
    this.#schema = schema;
    this.#value = value ?? undefined; // null is equivalent to absent
    this.path = path;
    this.findings = findings;
  }

  /** The raw value, for embedded configurations. */
  get value(): unknown {
    return this.#value;
  }

  get isAbsent(): boolean {
    return this.#value === undefined;
  }

  addProblem(problem: string): void {
    this.findings.add(this.path, problem);
  }

  addRequired(detail = ''): void {
    this.addProblem(detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  /** Only for values that are not secret: the message repeats them. */
  addInvalid(value: unknown, detail: string): void {
    this.addProblem(invalidText(value, detail));
  }

  /** Adds the findings of a file that this node names. */
  addInvalidFile(file: string, inner: Parameters<Findings['include']>[0]): void {
    this.findings.include(inner, (text) => `${formatPath(this.path)}: ${invalidText(file, text)}`);
  }

  /** The nodes of all declared fields, present or absent. */
  fields<Declared extends Fields>(this: ConfigNode<ObjectSchema<Declared>>): ConfigNodeFields<Declared> {
    const { properties } = this.#schema;
    const found = isJsonObject(this.#value) ? this.#value : {};
    const children = Object.entries(properties).map(([name, schema]) => [
      name,
      this.#child(schema, name, Object.hasOwn(found, name) ? found[name] : undefined),
    ]);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each declared field has a node with its own schema
    return Object.fromEntries(children) as ConfigNodeFields<Declared>;
  }

  items<Item extends Schema>(this: ConfigNode<ListSchema<Item>>): readonly ConfigNode<Item>[] {
    const { items } = this.#schema;
    const found: readonly unknown[] = Array.isArray(this.#value) ? this.#value : [];
    return found.map((item, index) => new ConfigNode(items, item, [...this.path, index], this.findings));
  }

  string(): string | undefined {
    return typeof this.#value === 'string' ? this.#value : undefined;
  }

  boolean(): boolean | undefined {
    return typeof this.#value === 'boolean' ? this.#value : undefined;
  }

  int32(): number | undefined {
    if (!isNumber(this.#value)) return undefined;
    if (typeof this.#value === 'number' && this.#value === (this.#value | 0)) return this.#value;
    this.addProblem(notInt32);
    return undefined;
  }

  durationMs(): number | undefined {
    const text = this.string();
    const parsed = text === undefined ? undefined : parseDuration(text);
    if (text !== undefined && parsed === undefined) this.addProblem(notADuration);
    return parsed;
  }

  #child(schema: Schema, name: string, value: unknown): ConfigNode {
    return new ConfigNode(schema, value, [...this.path, name], this.findings);
  }
}

const invalidText = (value: unknown, detail: string): string => `Invalid value: ${JSON.stringify(value)}: ${detail}`;

const isNumber = (value: unknown): value is Integer => typeof value === 'number' || isRawNumber(value);
