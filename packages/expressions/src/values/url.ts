import { requireValue } from '@cluster-apiserver/base';
import { readIpv6 } from './ip.ts';
import { EvaluationError, Opaque } from './value.ts';

/**
 * A URL that keeps what is written: its port even if it is the usual one, its host in upper case, dots in its path.
 * The URL of browsers would change all of these, and a rule that compares them would mean something else.
 */
export class Url extends Opaque {
  override readonly typeName = 'kubernetes.URL';
  readonly scheme: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly query: string;
  readonly #text: string;

  constructor({ scheme, user, host, path, query, rest }: Parts) {
    super();
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
    const [, name = host, port = ''] = /^([^]*):(\d*)$/.exec(host) ?? [];
    this.hostname = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
    this.port = port;
    const authority = user !== '' || host !== '' ? `//${user}${host}` : '';
    this.#text = `${scheme === '' ? '' : `${scheme}:`}${authority}${path}${query === '' ? '' : `?${query}`}${rest}`;
  }

  override get size(): number {
    return this.#text.length;
  }

  override equals(other: Opaque): boolean {
    return other instanceof Url && other.#text === this.#text;
  }

  override toString(): string {
    return this.#text;
  }
}

interface Parts {
  readonly scheme: string;
  /** With its `@`. */
  readonly user: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  /** What no function shows and still tells URLs apart: what follows a scheme without slashes, and the fragment. */
  readonly rest: string;
}

/** Absolute URLs and absolute paths; throws for anything else. */
export function parseUrl(text: string): Url {
  read(text); // As a request has it, where a fragment belongs to what comes before it.
  const hash = text.indexOf('#');
  if (hash < 0) return new Url(read(text));
  const fragment = text.slice(hash + 1);
  decode(fragment);
  const parts = read(text.slice(0, hash));
  return new Url({ ...parts, rest: `${parts.rest}${fragment === '' ? '' : `#${fragment}`}` });
}

const urlError = (): EvaluationError => new EvaluationError('not an absolute URL or path');

function read(text: string): Parts {
  if (text === '' || /[\0-\x1f\x7f]/.test(text)) throw urlError();
  const none = { scheme: '', user: '', host: '', path: '', query: '', rest: '' };
  if (text === '*') return { ...none, path: '*' };
  const [, written = '', afterScheme = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?([^]*)$/.exec(text) ?? [];
  if (text.startsWith(':')) throw urlError();
  const scheme = written.toLowerCase();
  const mark = afterScheme.indexOf('?');
  const [hierarchy, query] = mark < 0 ? [afterScheme, ''] : [afterScheme.slice(0, mark), afterScheme.slice(mark + 1)];
  if (!hierarchy.startsWith('/')) {
    if (scheme === '') throw urlError();
    return { ...none, scheme, query, rest: hierarchy };
  }
  // Without a scheme, three slashes begin a path.
  if (!hierarchy.startsWith('//') || (scheme === '' && hierarchy.startsWith('///')))
    return { ...none, scheme, path: readPath(hierarchy), query };
  const slash = hierarchy.indexOf('/', 2);
  const authority = hierarchy.slice(2, slash < 0 ? undefined : slash);
  const at = authority.lastIndexOf('@');
  return {
    ...none,
    scheme,
    user: readUser(authority.slice(0, at + 1)),
    host: readHost(scheme, authority.slice(at + 1)),
    path: slash < 0 ? '' : readPath(hierarchy.slice(slash)),
    query,
  };
}

function readUser(user: string): string {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw urlError();
  decode(user);
  return user;
}

function readHost(scheme: string, host: string): string {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) throw urlError();
  if (bracket === 0) return readLiteral(host);
  const [first, last] = [host.indexOf(':'), host.lastIndexOf(':')];
  // Other schemes may name several hosts; those of the web name one.
  const colon = scheme === 'http' || scheme === 'https' ? first : last;
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon))) throw urlError();
  return decodeHost(host);
}

/** `[::1]:80`, with a zone as in `[fe80::1%25eth0]`. */
function readLiteral(host: string): string {
  const end = host.lastIndexOf(']');
  const [address, port] = [host.slice(1, Math.max(end, 1)), host.slice(end + 1)];
  const [literal = '', ...zone] = address.split('%25');
  if (end < 0 || !/^(:\d*)?$/.test(port) || readIpv6(decodeHost(literal)) === undefined) throw urlError();
  if (zone.length === 0) return `[${literal}]${port}`;
  const name = decode(zone.join('%25'));
  if (name === '') throw urlError();
  return `[${literal}%${name}]${port}`;
}

/** In a host only what is not ASCII can be escaped. */
function decodeHost(host: string): string {
  if (/[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\x80-\uffff]/.test(host) || /%(?!25)[0-7]/.test(host)) throw urlError();
  return decode(host);
}

/** Keeps the escaping of the original if it is valid; escapes it again otherwise. */
function readPath(path: string): string {
  const decoded = decodeBytes(path);
  if (/^[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]*$/.test(path)) return path;
  let escaped = '';
  for (const byte of decoded) escaped += requireValue(inPath[byte], 'each byte has a form');
  return escaped;
}

/** How each byte is written in a path. */
const inPath: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const letter = String.fromCharCode(byte);
  return /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

const decode = (text: string): string => (text.includes('%') ? decodeBytes(text).toString() : text);

/** The bytes of a text, escaped ones for what they stand for. */
function decodeBytes(text: string): Buffer {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) throw urlError();
  const bytes = Buffer.from(text);
  let [from, to] = [0, 0];
  while (from < bytes.length) {
    const isEscaped = bytes[from] === 0x25;
    bytes[to++] = isEscaped ? Number.parseInt(bytes.toString('latin1', from + 1, from + 3), 16) : bytes.readUInt8(from);
    from += isEscaped ? 3 : 1;
  }
  return bytes.subarray(0, to);
}

/** The parameters of a query; those that cannot be read are left out. */
export function readQuery(query: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const parameter of query.split('&')) {
    if (parameter === '' || parameter.includes(';') || /%(?![0-9a-fA-F]{2})/.test(parameter)) continue;
    const equals = parameter.indexOf('=');
    const part = (text: string): string => decode(text.replaceAll('+', ' '));
    const name = part(equals < 0 ? parameter : parameter.slice(0, equals));
    const values = found.get(name) ?? [];
    values.push(equals < 0 ? '' : part(parameter.slice(equals + 1)));
    found.set(name, values);
  }
  return found;
}
