import { type Node, qualifiedName } from '../syntax/node.ts';
import { addresses } from './addresses.ts';
import { conversions } from './conversions.ts';
import { lists } from './lists.ts';
import { namedFormats } from './named-formats.ts';
import { operators } from './operators.ts';
import { optionals } from './optionals.ts';
import type { Overload } from './overload.ts';
import { quantities } from './quantities.ts';
import { regularExpressions } from './regular-expressions.ts';
import { format } from './format.ts';
import { semvers } from './semvers.ts';
import { strings } from './strings.ts';
import { times } from './times.ts';
import { urls } from './urls.ts';

/** Every function there is, by its name. */
const library: ReadonlyMap<string, readonly Overload[]> = Map.groupBy(
  [
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
  ].flat(),
  ({ name }) => name,
);

export const overloadsNamed = (name: string): readonly Overload[] => library.get(name) ?? [];

/** `optional.of(x)` looks like a method of `optional` and is a function with a dot in its name. */
export function functionCalled({ name, target, args }: Node & { kind: 'call' }): {
  readonly name: string;
  readonly method: boolean;
  readonly args: readonly Node[];
} {
  if (!target) return { name: name.replace(/^\./, ''), method: false, args };
  const qualified = `${qualifiedName(target)}.${name}`.replace(/^\./, '');
  return library.has(qualified)
    ? { name: qualified, method: false, args }
    : { name, method: true, args: [target, ...args] };
}
