import { type Node, qualifiedName } from '../syntax/node.ts';
import { addresses } from './addresses.ts';
import { authorizers } from './authorizers.ts';
import { conversions } from './conversions.ts';
import { format } from './format.ts';
import { jsonPatches } from './json-patches.ts';
import { lists } from './lists.ts';
import { namedFormats } from './named-formats.ts';
import { operators } from './operators.ts';
import { optionals } from './optionals.ts';
import type { Overload } from './overload.ts';
import { quantities } from './quantities.ts';
import { regularExpressions } from './regular-expressions.ts';
import { semvers } from './semvers.ts';
import { strings } from './strings.ts';
import { times } from './times.ts';
import { urls } from './urls.ts';

interface Call {
  readonly name: string;
  readonly method: boolean;
  readonly args: readonly Node[];
}

/** The functions of an environment, by their names. */
export class Library {
  readonly #overloads: ReadonlyMap<string, readonly Overload[]>;

  constructor(...parts: readonly (readonly Overload[])[]) {
    this.#overloads = Map.groupBy(parts.flat(), ({ name }) => name);
  }

  overloadsNamed(name: string): readonly Overload[] {
    return this.#overloads.get(name) ?? [];
  }

  /** `optional.of(x)` looks like a method of `optional` and is a function with a dot in its name. */
  functionCalled({ name, target, args }: Node & { kind: 'call' }): Call {
    if (!target) return { name: name.replace(/^\./, ''), method: false, args };
    const qualified = `${qualifiedName(target)}.${name}`.replace(/^\./, '');
    return this.#overloads.has(qualified)
      ? { name: qualified, method: false, args }
      : { name, method: true, args: [target, ...args] };
  }
}

const common = [
  operators,
  conversions,
  strings,
  format,
  lists,
  optionals,
  times,
  regularExpressions,
  urls,
  addresses,
  quantities,
  semvers,
  namedFormats,
  authorizers,
];

/** The functions of all environments of kube-apiserver 1.36. */
export const commonLibrary = new Library(...common);

/** Additional functions of mutations. */
export const mutationLibrary = new Library(...common, jsonPatches);
