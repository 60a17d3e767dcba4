import { badRequest } from '@cluster-apiserver/model';

/** What a request asks for, read off its method and target before anybody is asked whether it may. */
export interface RequestInfo {
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** What authorization is asked about: `get`, `list`, `create` … or nothing for resources, else the method in lower case. */
  readonly verb: string;
  /** Undefined for paths outside the resources of a group and version. */
  readonly resource: ResourceInfo | undefined;
}

export interface ResourceInfo {
  readonly group: string;
  readonly version: string;
  /** That of the object; a namespace lies in itself, because those who may do something there may do it to it. */
  readonly namespace: string | undefined;
  /** Whether the path leads through a namespace. */
  readonly isInNamespace: boolean;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether the path is one of those that begin with `watch/`. */
  readonly isWatchPath: boolean;
  /** More segments than any resource has. */
  readonly hasExtraSegments: boolean;
}

const noQuery = new URLSearchParams();

export function parseRequestInfo(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?');
  const path = decodePath(mark < 0 ? target : target.slice(0, mark));
  const query = mark < 0 ? noQuery : parseQuery(target.slice(mark + 1));
  const resource = parseResourcePath(path);
  return { path, query, verb: resource ? resourceVerb(method, resource, query) : method.toLowerCase(), resource };
}

/** The whole path is decoded before it is cut, so an encoded slash separates like any other. */
function decodePath(raw: string): string {
  if (!raw.includes('%')) return raw;
  if (/%(?![0-9a-fA-F]{2})/.test(raw)) throw badRequest('the path has an invalid percent-encoding');
  try {
    return decodeURIComponent(raw);
  } catch {
    // Bytes that are no UTF-8 name nothing that exists.
    return Buffer.from(
      raw.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString();
  }
}

/** A pair with a broken encoding is dropped, as if it had not been sent. */
function parseQuery(raw: string): URLSearchParams {
  const broken = /%(?![0-9a-fA-F]{2})/.test(raw);
  return new URLSearchParams(
    broken
      ? raw
          .split('&')
          .filter((pair) => !/%(?![0-9a-fA-F]{2})/.test(pair))
          .join('&')
      : raw,
  );
}

function parseResourcePath(path: string): ResourceInfo | undefined {
  const segments = path.split('/');
  if (segments.at(-1) === '') segments.pop();
  const [root, ...rest] = segments.slice(1);
  if (root === 'api') return parseResource('', rest[0], rest.slice(1));
  // Only the core group has an empty name, and it is served below /api alone.
  if (root === 'apis' && rest[0]) return parseResource(rest[0], rest[1], rest.slice(2));
  return undefined;
}

function parseResource(
  group: string,
  version: string | undefined,
  segments: readonly string[],
): ResourceInfo | undefined {
  const watchPath = segments[0] === 'watch';
  const [first, ...rest] = watchPath ? segments.slice(1) : segments;
  if (version === undefined || first === undefined) return undefined;
  const ofNamespaces = first === 'namespaces';
  if (ofNamespaces && rest.length > 1 && !namespaceSubresources.has(rest[1])) {
    const [namespace, plural = '', name, subresource] = rest;
    return {
      group,
      version,
      namespace: namespace || undefined,
      isInNamespace: true,
      plural,
      name,
      subresource,
      isWatchPath: watchPath,
      hasExtraSegments: rest.length > 4,
    };
  }
  const [name, subresource] = rest;
  const namespace = ofNamespaces ? name : undefined;
  const beyond = rest.length > 2;
  return {
    group,
    version,
    namespace,
    isInNamespace: false,
    plural: first,
    name,
    subresource,
    isWatchPath: watchPath,
    hasExtraSegments: beyond,
  };
}

/** What these words stand for behind the name of a namespace, and no kind is called so. */
const namespaceSubresources: ReadonlySet<string | undefined> = new Set(['finalize', 'status']);

function resourceVerb(method: string, { name, isWatchPath: watchPath }: ResourceInfo, query: URLSearchParams): string {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    case 'GET':
    case 'HEAD':
      if (watchPath) return 'watch';
      if (name !== undefined) return 'get';
      return readBoolean(query, 'watch') ? 'watch' : 'list';
    default:
      return ''; // OPTIONS and others have no verb of their own: only a right to all verbs covers them
  }
}

/** A boolean parameter: absent is undefined; only `false` and `0` are false, whatever else stands there is true. */
export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  return value !== '0' && value.toLowerCase() !== 'false';
}

/** A wrong value is shown up to here. */
const shownCharactersMax = 64;
const int64Range = [-(2n ** 63n), 2n ** 63n - 1n] as const;

/** A whole number of 64 bits, as a double; anything else in its place is the client's mistake. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const [, sign, digits] = /^([+-]?)0*([0-9]{1,19})$/.exec(value) ?? [];
  const exact = digits === undefined ? undefined : BigInt(sign === '-' ? `-${digits}` : digits);
  if (exact === undefined || exact < int64Range[0] || exact > int64Range[1])
    throw badRequest(`${name}: parsing ${JSON.stringify(value.slice(0, shownCharactersMax))}: not a whole number`);
  return Number(exact);
}

export const readString = (query: URLSearchParams, name: string): string | undefined => query.get(name) ?? undefined;
