import type { Budget } from '../run/budget.ts';
import { EntryMap } from '../values/entry-map.ts';
import { parseUrl, readQuery, type Url } from '../values/url.ts';
import type { Value } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload } from './overload.ts';
import { succeeds } from './succeeds.ts';

const part = (signature: string, run: (url: Url) => Value): Overload =>
  defineMethod('kubernetes.URL', signature, (url: Url) => run(url));

/** Kubernetes' functions for URLs. Absolute URLs and absolute paths are understood; a part that is not there is empty. */
export const urls: readonly Overload[] = [
  defineFunction('url(string) -> kubernetes.URL', parse),
  defineFunction('isURL(string) -> bool', (text: string, budget: Budget) => succeeds(() => parse(text, budget))),
  part('getScheme() -> string', ({ scheme }) => scheme),
  part('getHost() -> string', ({ host }) => host),
  part('getHostname() -> string', ({ hostname }) => hostname),
  part('getPort() -> string', ({ port }) => port),
  part('getEscapedPath() -> string', ({ path }) => path),
  defineMethod('kubernetes.URL', 'getQuery() -> map(string, list(string))', ({ query }: Url, budget: Budget) => {
    budget.charge(Math.floor(query.length / 4));
    return new EntryMap(readQuery(query));
  }),
];

/** Each character is looked at several times. */
function parse(text: string, budget: Budget): Url {
  budget.charge(Math.floor(text.length / 4));
  return parseUrl(text);
}
