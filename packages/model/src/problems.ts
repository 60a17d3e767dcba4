import { setOwn } from '@cluster-apiserver/base';
import { isJsonObject } from './json/json-object.ts';
import { formatNumber } from './json/raw-number.ts';

/** A step of a path into an object: the name of a field, the index in a list, or the key of a map. */
export type Step = string | number | { readonly key: string };
export type Path = readonly Step[];

/** A path as people read it: `spec.rules[0].data[key]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path)
    text +=
      typeof step === 'number'
        ? `[${step}]`
        : typeof step === 'object'
          ? `[${step.key}]`
          : text === ''
            ? step
            : `.${step}`;
  return text;
}

/** One thing wrong with one field. */
export interface FieldError {
  readonly path: Path;
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueTypeInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate';
  readonly message: string;
}

/** The maximum number of errors in a response. More are usually the same mistake in many entries. */
export const fieldErrorsMax = 100;

interface Found {
  readonly errors: FieldError[];
  count: number;
  /** Takes all errors instead of a bounded list: those of a file of an operator are wanted in full. */
  readonly take?: (path: Path, message: string) => void;
}

/** From a place up to the root of its object. */
interface Place {
  readonly step: Step;
  readonly parent: Place | undefined;
}

/**
 * All that is wrong with an object, as seen from one place in it. Validators add to it, each with the part that it validates.
 * Errors beyond a bound are counted and never made, and no text is built for a valid value.
 */
export class Problems {
  readonly #found: Found;
  readonly #place: Place | undefined;

  /** Without arguments: at the root of an object about which nothing is known yet. */
  constructor(found: Found = { errors: [], count: 0 }, place?: Place) {
    this.#found = found;
    this.#place = place;
  }

  /** The same problems, seen from a place below this one. */
  at(...steps: readonly Step[]): Problems {
    let place = this.#place;
    for (const step of steps) place = { step, parent: place };
    return new Problems(this.#found, place);
  }

  /** The same problems, seen from this place, which Go's nil stands for at the root: that is no field. */
  shown(): Problems {
    return this.#place ? this : this.at('<nil>');
  }

  /** The same problems, seen from the place that so many steps lead to on the way here. */
  upTo(steps: number): Problems {
    return new Problems(this.#found).at(...this.path.slice(0, steps));
  }

  /** Problems of this place that may turn out to be none. */
  aside(): Problems {
    return new Problems(undefined, this.#place);
  }

  /** Adds what was found aside. */
  include({ errors, count }: Pick<Problems, 'errors' | 'count'>): void {
    this.#found.errors.push(...errors.slice(0, Math.max(0, fieldErrorsMax - this.#found.errors.length)));
    this.#found.count += count;
  }

  /** Validates each entry of a list at its place. */
  each<T>(entries: readonly T[], validate: (entry: T, problems: Problems) => void): void {
    for (const [index, entry] of entries.entries()) validate(entry, this.at(index));
  }

  /** How many errors were found at all places, listed or not. */
  get count(): number {
    return this.#found.count;
  }

  /** The first errors of all places. */
  get errors(): readonly FieldError[] {
    return this.#found.errors;
  }

  get path(): Path {
    const steps: Step[] = [];
    for (let place = this.#place; place; place = place.parent) steps.push(place.step);
    return steps.toReversed();
  }

  required(detail = ''): this {
    return this.#add('FieldValueRequired', () => withDetail('Required value', detail));
  }

  invalid(value: unknown, detail: string, reason: FieldError['reason'] = 'FieldValueInvalid'): this {
    return this.#add(reason, () => withDetail(`Invalid value: ${formatValue(value)}`, detail));
  }

  /** In words that no other error has. */
  report(problem: string, reason: FieldError['reason'] = 'FieldValueInvalid'): this {
    return this.#add(reason, () => problem);
  }

  /** By a rule that returns what is wrong with a text, such as those for names. */
  check(rule: (text: string) => readonly string[], text: string): this {
    for (const detail of rule(text)) this.invalid(text, detail);
    return this;
  }

  /** A text that is given must be one of these. */
  oneOf(value: string | undefined, supported: readonly string[]): this {
    return value === undefined || supported.includes(value) ? this : this.notSupported(value, supported);
  }

  notSupported(value: unknown, supported: readonly string[], hint = ''): this {
    return this.#add(
      'FieldValueNotSupported',
      () =>
        `Unsupported value: ${formatValue(value)}: ${hint ? `${hint}, ` : ''}supported values: ${supported.map((entry) => JSON.stringify(entry)).join(', ')}`,
    );
  }

  duplicate(value: unknown): this {
    return this.#add('FieldValueDuplicate', () => `Duplicate value: ${formatValue(value)}`);
  }

  forbidden(detail: string): this {
    return this.#add('FieldValueForbidden', () => withDetail('Forbidden', detail));
  }

  /** For a text of more bytes in UTF-8: upstream's validation measures with Go's `len`, which counts bytes. */
  tooLong(bytesMax: number): this {
    return this.#add(
      'FieldValueTooLong',
      () => `Too long: may not be more than ${bytesMax} ${bytesMax === 1 ? 'byte' : 'bytes'}`,
    );
  }

  tooManyCharacters(charactersMax: number): this {
    return this.#add('FieldValueTooLong', () => `Too long: may not be more than ${charactersMax} characters`);
  }

  tooMany(count: number, countMax: number): this {
    return this.#add(
      'FieldValueTooMany',
      () => `Too many: ${count}: must have at most ${countMax} ${countMax === 1 ? 'item' : 'items'}`,
    );
  }

  #add(reason: FieldError['reason'], message: () => string): this {
    const { errors, take } = this.#found;
    this.#found.count++;
    if (take) take(this.path, message());
    else if (errors.length < fieldErrorsMax) errors.push({ path: this.path, reason, message: message() });
    return this;
  }
}

const withDetail = (problem: string, detail: string): string => (detail ? `${problem}: ${detail}` : problem);

/** A value in a message is cut here: it is for people, and the client has the whole. */
const shownCharactersMax = 512;

/** A value in a message, as JSON; objects and lists as Go writes them, with escapes for what HTML would take for its own. */
export function formatValue(value: unknown): string {
  if (typeof value === 'number') return formatNumber(value);
  const shown = truncateValue(value, { nodes: shownCharactersMax });
  const text = typeof value === 'object' ? formatJson(shown) : (JSON.stringify(shown) ?? 'null');
  return text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
}

/** JSON as Go writes it. */
export const formatJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null').replaceAll(/[<>&\u2028\u2029]/g, escapeCharacter);

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** As much of a value as can show: each node and each character of a text takes at least one character. */
function truncateValue(value: unknown, budget: { nodes: number }): unknown {
  budget.nodes--;
  if (typeof value === 'string') return value.slice(0, shownCharactersMax);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      if (budget.nodes < 0) break;
      items.push(truncateValue(item, budget));
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const out: Record<string, unknown> = {};
  for (const key in value) {
    if (budget.nodes < 0) break;
    setOwn(out, key.slice(0, shownCharactersMax), truncateValue(value[key], budget));
  }
  return out;
}
