/**
 * A part of what an operator wrote, and where it stands. Reading it notes what is wrong and goes on, so that all faults
 * of a file are told at once.
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

  /** The value is for people: it helps to find the place, and nothing in these files is a secret. */
  invalid(value: unknown, detail: string): void {
    this.wrong(`Invalid value: ${JSON.stringify(value)}: ${detail}`);
  }

  required(detail = ''): void {
    this.wrong(detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  /** Each of these fields, written or not; any other is a fault. */
  fields<Name extends string>(names: readonly Name[]): Readonly<Record<Name, Written>> {
    const found = this.#is('an object', isObject) ?? {};
    for (const name of Object.keys(found))
      if (!(names as readonly string[]).includes(name)) this.at(name).wrong('unknown field');
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

  #child(name: string, value: unknown): Written {
    return new Written(value, this.path === '' ? name : `${this.path}.${name}`, this.#faults);
  }

  /** Undefined when it is absent or something else. */
  #is<T>(wanted: string, fits: (value: unknown) => value is T): T | undefined {
    if (this.absent) return undefined;
    if (fits(this.#value)) return this.#value;
    this.wrong(
      `expected ${wanted}, got ${Array.isArray(this.#value) ? 'a list' : `a value of type ${typeof this.#value}`}`,
    );
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFact = (value: unknown): value is boolean => typeof value === 'boolean';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
