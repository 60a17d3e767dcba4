import { MapValue } from '../values/map-value.ts';
import { EvaluationError, Url, type Value } from '../values/value.ts';
import { fn, method, type Overload } from './overload.ts';

const part = (signature: string, run: (url: URL) => Value): Overload =>
  method('url', signature, ({ url }: Url) => run(url));

/** Kubernetes' functions for URLs. Addresses and absolute paths are understood; a part that is not there is empty. */
export const urls: readonly Overload[] = [
  fn('url(string) -> url', (text: string) => {
    const url = parsed(text);
    if (!url) throw new EvaluationError('URL parse error');
    return url;
  }),
  fn('isURL(string) -> bool', (text: string) => parsed(text) !== undefined),
  part('getScheme() -> string', ({ protocol }) => (protocol === noScheme ? '' : protocol.slice(0, -1))),
  part('getHost() -> string', ({ protocol, host }) => (protocol === noScheme ? '' : host)),
  part('getHostname() -> string', ({ protocol, hostname }) =>
    protocol === noScheme ? '' : hostname.replace(/^\[(.*)\]$/, '$1'),
  ),
  part('getPort() -> string', ({ port }) => port),
  part('getEscapedPath() -> string', ({ pathname }) => pathname),
  part('getQuery() -> map(string, list(string))', ({ searchParams }) =>
    MapValue.of([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)])),
  ),
];

/** A path alone is a URL too; this stands in for where it would be. */
const noScheme = 'path:';

function parsed(text: string): Url | undefined {
  const absolute = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\//.test(text) ? text : undefined;
  const path = text.startsWith('/') ? `${noScheme}//-${text}` : undefined;
  const url = URL.parse(absolute ?? path ?? '');
  return url ? new Url(url, text) : undefined;
}
