import { getOwn, setOwn, type SyncTask } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import { clientBounds, type JsonBounds, jsonValuesMax, nestingMax } from '../json/json-scan.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { PatchFailedError, PatchFormError, PatchTestFailedError, TooManyOperationsError } from './errors.ts';
import { sameJson } from '../json/same-json.ts';

/**
 * JSON patch (RFC 6902): a list of operations, all of which happen or none. An absent member reads as null, as it does
 * everywhere in the API: a `test` for null holds where nothing is, a `replace` sets what was not set, and an operation
 * without a value has the value null. Removing and moving away what is absent fail, and so does everything about an
 * absent place of a list.
 */
export interface JsonPatch {
  readonly operations: readonly Operation[];
  /** Paths of the members of operations that mean nothing. */
  readonly unknownMembers: readonly string[];
}

type Operation = Readonly<Record<string, unknown>>;

const operationsMax = 10_000;
/** The operation itself, the commas between `op`, `path`, `from` and `value`, and the comma behind it. */
const valuesOfOperation = 5;
/** What the operations hold is bounded as in an object; the patched object is bounded when it is stored. */
export const jsonPatchBounds: JsonBounds = {
  ...clientBounds,
  entries: { max: operationsMax, values: valuesOfOperation },
};
/** All copies of one patch together: twenty operations that copy a list into itself would make gigabytes. */
const copiedBytesMax = 3 * 1024 * 1024;
/** No object may hold more of them. Each takes longer than its bytes. */
const copiedValuesMax = jsonValuesMax;
/** Entries that lists move up or down for insertions and removals, all together; each takes about a nanosecond. */
const shiftedEntriesMax = 50_000_000;

/** The maximum number of values that all tests of a patch compare: one map may be tested ten thousand times. */
const testedValuesMax = 1_000_000;
/** Steps of a path. Kinds have a third of it at most, and a document could grow deeper with every operation. */
const pathStepsMax = 100;

const members = new Set(['op', 'path', 'from', 'value']);

export function readJsonPatch(value: unknown): JsonPatch {
  if (!Array.isArray(value)) throw new PatchFormError('a JSON patch must be a list of operations');
  if (value.length > operationsMax) {
    throw new TooManyOperationsError(
      `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${value.length}`,
    );
  }
  const unknownMembers: string[] = [];
  const operations = value.map((operation: unknown, index) => {
    // As kube-apiserver reads it: an operation without members, which fails when it is performed.
    if (operation === null) return {};
    if (!isJsonObject(operation)) throw new PatchFormError(`operation ${index} must be an object`);
    for (const name of Object.keys(operation)) if (!members.has(name)) unknownMembers.push(`[${index}].${name}`);
    for (const name of ['op', 'path', 'from']) {
      const member = getOwn(operation, name) ?? '';
      if (typeof member !== 'string') throw new PatchFormError(`operation ${index}: ${name} must be a string`);
    }
    return operation;
  });
  return { operations, unknownMembers };
}

/** The document after all operations. The document itself and the values of the patch stay as they are. */
export function* applyJsonPatch(document: unknown, { operations }: JsonPatch): SyncTask<unknown> {
  const evaluation = new Evaluation(document);
  for (const [index, operation] of operations.entries()) {
    try {
      evaluation.perform(operation);
    } catch (error) {
      if (error instanceof PatchTestFailedError) throw new PatchTestFailedError(`operation ${index}: ${error.message}`);
      if (error instanceof PatchFailedError) throw new PatchFailedError(`operation ${index}: ${error.message}`);
      throw error;
    }
    yield;
  }
  return evaluation.document;
}

type Container = Record<string, unknown> | unknown[];

class Evaluation {
  document: unknown;
  /** Containers that this patch has created and may change in place. All others are shared. */
  readonly #own = new WeakSet<object>();
  #copiedBytes = 0;
  #copiedValues = 0;
  #shiftedEntries = 0;
  #testedValues = 0;

  constructor(document: unknown) {
    this.document = document;
  }

  perform(operation: Operation): void {
    const path = pathOf(operation, 'path');
    switch (operation['op']) {
      case 'add':
        return this.#add(path, valueOf(operation));
      case 'remove':
        this.#remove(path);
        return;
      case 'replace':
        return this.#replace(path, valueOf(operation));
      case 'move':
        return this.#move(pathOf(operation, 'from'), path);
      case 'copy':
        return this.#add(path, this.#copyOf(this.#read(pathOf(operation, 'from'))));
      case 'test':
        if (!sameJson(this.#read(path), valueOf(operation), this.#spendOnTests))
          throw new PatchTestFailedError(`${shown(path)} is something else`);
        return;
      default:
        throw new PatchFailedError('op must be add, remove, replace, move, copy or test');
    }
  }

  #add(path: Path, value: unknown): void {
    const place = this.#placeOf(path);
    if (!place) this.document = value;
    else if (Array.isArray(place.container)) {
      const index = place.key === '-' ? place.container.length : indexOf(place.key, place.container.length + 1, path);
      this.#shift(place.container.length - index);
      place.container.splice(index, 0, value);
    } else setOwn(place.container, place.key, value);
  }

  #replace(path: Path, value: unknown): void {
    const place = this.#placeOf(path);
    if (!place) this.document = value;
    else if (Array.isArray(place.container)) place.container[indexOf(place.key, place.container.length, path)] = value;
    else setOwn(place.container, place.key, value);
  }

  #remove(path: Path): unknown {
    const place = this.#placeOf(path);
    if (!place) throw new PatchFailedError('the whole object cannot be removed');
    const { container, key } = place;
    if (Array.isArray(container)) {
      const index = indexOf(key, container.length, path);
      this.#shift(container.length - index);
      return container.splice(index, 1)[0];
    }
    if (!Object.hasOwn(container, key)) throw new PatchFailedError(`nothing is at ${shown(path)}`);
    const removed = container[key];
    delete container[key];
    return removed;
  }

  #move(from: Path, to: Path): void {
    if (to.length > from.length && from.every((key, depth) => key === to[depth]))
      throw new PatchFailedError(`${shown(from)} cannot be moved into itself`);
    if (from.length === 0) return; // the whole object, to where it is
    this.#add(to, this.#remove(from));
  }

  #read(path: Path): unknown {
    return path.reduce((value, key, depth) => memberOf(value, key, path, depth === path.length - 1), this.document);
  }

  /** The container of the last step, copied with the containers on the way; undefined for the whole document. */
  #placeOf(path: Path): { readonly container: Container; readonly key: string } | undefined {
    const key = path.at(-1);
    if (key === undefined) return undefined;
    let container = this.#ours(this.document, path);
    this.document = container;
    for (const step of path.slice(0, -1)) {
      const inner = this.#ours(memberOf(container, step, path, false), path);
      if (Array.isArray(container)) container[Number(step)] = inner;
      else setOwn(container, step, inner);
      container = inner;
    }
    return { container, key };
  }

  #ours(value: unknown, path: Path): Container {
    if (typeof value !== 'object' || value === null || isRawNumber(value))
      throw new PatchFailedError(`${shown(path)} leads through a value that has no members`);
    if (this.#isOwn(value)) return value;
    const copy: Container = Array.isArray(value) ? [...value] : { ...value };
    this.#own.add(copy);
    return copy;
  }

  #isOwn(value: object): value is Container {
    return this.#own.has(value);
  }

  /** A deep copy, so that later operations do not change both. */
  #copyOf(value: unknown, levels = 0): unknown {
    if (levels > nestingMax) throw new PatchFailedError(`a copied value is nested deeper than ${nestingMax} levels`);
    this.#copiedBytes += typeof value === 'string' ? value.length + 2 : 4;
    if (this.#copiedBytes > copiedBytesMax)
      throw new PatchFailedError(`all copies together are larger than ${copiedBytesMax} bytes`);
    if (++this.#copiedValues > copiedValuesMax)
      throw new PatchFailedError(`all copies together hold more than ${copiedValuesMax} values`);
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
    if (Array.isArray(value)) return value.map((entry) => this.#copyOf(entry, levels + 1));
    const copy: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value)) {
      this.#copiedBytes += key.length + 2;
      setOwn(copy, key, this.#copyOf(member, levels + 1));
    }
    return copy;
  }

  readonly #spendOnTests = (values: number): void => {
    this.#testedValues += values;
    if (this.#testedValues > testedValuesMax)
      throw new PatchFailedError(`the tests look at more than ${testedValuesMax} values`);
  };

  #shift(entries: number): void {
    this.#shiftedEntries += entries;
    if (this.#shiftedEntries > shiftedEntriesMax)
      throw new PatchFailedError('the patch moves the entries of long lists too often');
  }
}

type Path = readonly string[];

function pathOf(operation: Operation, name: 'path' | 'from'): Path {
  const pointer = getOwn(operation, name);
  if (typeof pointer !== 'string') throw new PatchFailedError(`${name} is missing`);
  if (pointer === '') return [];
  const [first, ...steps] = pointer.split('/', pathStepsMax + 2);
  if (first !== '')
    throw new PatchFailedError(
      `${name} ${JSON.stringify(pointer.slice(0, shownCharactersMax))} does not begin with a slash`,
    );
  if (steps.length > pathStepsMax) throw new PatchFailedError(`${name} has more than ${pathStepsMax} steps`);
  return pointer.includes('~') ? steps.map((step) => unescaped(step, pointer)) : steps;
}

function unescaped(step: string, pointer: string): string {
  if (/~(?![01])/.test(step))
    throw new PatchFailedError(
      `${JSON.stringify(pointer.slice(0, shownCharactersMax))} has a ~ without 0 or 1 behind it`,
    );
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

const valueOf = (operation: Operation): unknown => getOwn(operation, 'value') ?? null;

/** The value one step down. An absent member is null at the end of a path, and an error before. */
function memberOf(value: unknown, key: string, path: Path, last: boolean): unknown {
  if (Array.isArray(value)) return value[indexOf(key, value.length, path)];
  if (!isJsonObject(value)) throw new PatchFailedError(`nothing is at ${shown(path)}`);
  if (Object.hasOwn(value, key)) return value[key];
  if (last) return null;
  throw new PatchFailedError(`nothing is at ${shown(path)}`);
}

function indexOf(step: string, bound: number, path: Path): number {
  const index = /^(0|[1-9][0-9]{0,8})$/.test(step) ? Number(step) : bound;
  if (index >= bound) throw new PatchFailedError(`${shown(path)}: the list has no place ${JSON.stringify(step)}`);
  return index;
}

/** A path is for people here, and the client has the whole. */
const shownCharactersMax = 256;

const shown = (path: Path): string =>
  JSON.stringify(
    path
      .map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      .join('')
      .slice(0, shownCharactersMax),
  );
