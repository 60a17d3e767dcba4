import { parseDuration } from '@cluster-apiserver/base';
import { type Integer, isRawNumber } from '@cluster-apiserver/model';

/**
 * A part of what an operator wrote, and where it stands. Reading it notes what is wrong and goes on, so that all faults
 * of a file are told at once. A fault names its place and never repeats what was written there: it may be a secret.
 */
export class Written {
  readonly path: string;
  readonly #value: unknown;
  readonly #faults: string[];

  constructor(value: unknown, path: string, faults: string[]) {
    this.#value = value ?? undefined; // null says nothing
    this.path = path;
    this.#faults = faults;
  }

  get absent(): boolean {
    return this.#value === undefined;
  }

  wrong(problem: string): void {
    this.#faults.push(this.path === '' ? problem : `${this.path}: ${problem}`);
  }

  required(detail = ''): void {
    this.wrong(detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  /** For values that are no secrets: to see one helps to find its place. */
  invalid(value: unknown, detail: string): void {
    this.wrong(`Invalid value: ${JSON.stringify(value)}: ${detail}`);
  }

  /** Each of these fields, written or not; any other is a fault. */
  fields<Name extends string>(names: readonly Name[]): Readonly<Record<Name, Written>> {
    const found = this.#is('an object', isObject) ?? {};
    for (const name of Object.keys(found))
      if (!(names as readonly string[]).includes(name)) this.wrong(`unknown field ${shownName(name)}`);
    const children = names.map((name) => [
      name,
      this.#child(name, Object.hasOwn(found, name) ? found[name] : undefined),
    ]);
    return Object.fromEntries(children) as Record<Name, Written>; // one for each name
  }

  items(): readonly Written[] {
    const found = this.#is('a list', isList);
    return (found ?? []).map((item, index) => new Written(item, `${this.path}[${index}]`, this.#faults));
  }

  text(): string | undefined {
    return this.#is('a string', isText);
  }

  fact(): boolean | undefined {
    return this.#is('true or false', isFact);
  }

  /** A place below, to say something about it. */
  at(name: string): Written {
    return this.#child(name, undefined);
  }

  int32(): number | undefined {
    const number = this.#is('a number', isNumber);
    if (number === undefined) return undefined;
    if (typeof number === 'number' && number === (number | 0)) return number;
    this.wrong('expected a whole number of 32 bits, got another number');
    return undefined;
  }

  durationMs(): number | undefined {
    const text = this.text();
    const parsed = text === undefined ? undefined : parseDuration(text);
    if (text !== undefined && parsed === undefined) this.wrong('expected a duration such as 3s or 1m30s');
    return parsed;
  }

  #child(name: string, value: unknown): Written {
    return new Written(value, this.path === '' ? name : `${this.path}.${name}`, this.#faults);
  }

  /** Undefined when it is absent or something else. */
  #is<T>(wanted: string, fits: (value: unknown) => value is T): T | undefined {
    if (this.absent) return undefined;
    if (fits(this.#value)) return this.#value;
    this.wrong(`expected ${wanted}, got ${typeName(this.#value)}`);
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const isFact = (value: unknown): value is boolean => typeof value === 'boolean';

const isNumber = (value: unknown): value is Integer => typeof value === 'number' || isRawNumber(value);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRawNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Keys have 24 letters and more in base64, and fields have fewer. */
const shownLettersMax = 20;
const shownName = (name: string): string =>
  name.length > shownLettersMax ? `of ${name.length} letters` : JSON.stringify(name);
