import { badRequest, type StatusError } from '@cluster-apiserver/model';
import { type Integer, integerOf, numberOf } from '@cluster-apiserver/model/json';

/** The method and target of a request, parsed before authorization. */
export interface RequestInfo {
  /** Decoded, without the query. */
  readonly path: string;
  /** Without the parameters that cannot be decoded: then `fault` is set. */
  readonly query: URLSearchParams;
  /**
   * The verb for authorization: `get`, `list`, `create` … for resources, empty for other methods; otherwise the HTTP
   * method in lower case.
   */
  readonly verb: string;
  /** Undefined for non-resource paths. */
  readonly resource: ResourceInfo | undefined;
  /** Why the target is refused: a part of it cannot be decoded. */
  readonly fault?: StatusError | undefined;
}

export interface ResourceInfo {
  readonly group: string;
  readonly version: string;
  /**
   * The namespace of the object. For a namespace object this is its own name, so that rights within a namespace cover
   * it.
   */
  readonly namespace: string | undefined;
  /** Whether the path has the segment `namespaces/{namespace}` before the resource. */
  readonly isInNamespace: boolean;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether the path begins with the deprecated `watch/` prefix. */
  readonly isWatchPath: boolean;
  /** The path has more segments than any resource. */
  readonly hasExtraSegments: boolean;
}

const noQuery = new URLSearchParams();

/** A percent sign that two hexadecimal digits do not follow. */
const invalidEscape = /%(?![0-9a-fA-F]{2})/;

/** Never throws, so that a target that is refused is audited, logged and counted like others. */
export function parseRequestInfo(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?');
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const rawQuery = mark < 0 ? '' : target.slice(mark + 1);
  const path = decodePath(rawPath);
  const query = rawQuery === '' ? noQuery : parseQuery(rawQuery);
  const resource = path === undefined ? undefined : parseResourcePath(path);
  return {
    path: path ?? rawPath,
    query,
    verb: resource ? resourceVerb(method, resource, query) : method.toLowerCase(),
    resource,
    fault: path === undefined ? badRequest('the path has an invalid percent-encoding') : queryFault(rawQuery),
  };
}

/** Decodes before splitting, so an encoded slash separates segments like any other. */
function decodePath(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  if (invalidEscape.test(raw)) return undefined;
  try {
    return decodeURIComponent(raw);
  } catch {
    // Invalid UTF-8 becomes replacement characters, which match no name.
    return Buffer.from(
      raw.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString();
  }
}

/** Invalid UTF-8 becomes replacement characters, as Go prints it: no selector, option or name matches them. */
const parseQuery = (raw: string): URLSearchParams =>
  new URLSearchParams(
    invalidEscape.test(raw)
      ? raw
          .split('&')
          .filter((pair) => !invalidEscape.test(pair))
          .join('&')
      : raw,
  );

/**
 * kube-apiserver drops a parameter that cannot be decoded. Here it is an error: without its dryRun or its selector, a
 * deletion would delete what the client wanted to keep.
 */
function queryFault(raw: string): StatusError | undefined {
  if (!invalidEscape.test(raw)) return undefined;
  const pair = raw.split('&').find((one) => invalidEscape.test(one)) ?? '';
  const [name = ''] = pair.split('=', 1);
  return badRequest(
    `the query parameter ${JSON.stringify(name.slice(0, shownCharactersMax))} has an invalid percent-encoding`,
  );
}

/** Every request passes here, so the segments are not copied. */
function parseResourcePath(path: string): ResourceInfo | undefined {
  const segments = path.split('/');
  if (segments.at(-1) === '') segments.pop();
  const [, root, group] = segments;
  if (root === 'api') return parseResource('', segments, 2);
  // Only the core group has an empty name, and it is served below /api alone.
  if (root === 'apis' && group) return parseResource(group, segments, 3);
  return undefined;
}

/** `at` is the index of the version. */
function parseResource(group: string, segments: readonly string[], at: number): ResourceInfo | undefined {
  const version = segments[at];
  const isWatchPath = segments[at + 1] === 'watch';
  const firstAt = isWatchPath ? at + 2 : at + 1;
  const first = segments[firstAt];
  if (version === undefined || first === undefined) return undefined;
  const isNamespacesResource = first === 'namespaces';
  const isInNamespace =
    isNamespacesResource && segments.length > firstAt + 2 && !namespaceSubresources.has(segments[firstAt + 2]);
  const pluralAt = isInNamespace ? firstAt + 2 : firstAt;
  const namespace = isNamespacesResource ? segments[firstAt + 1] : undefined;
  return {
    group,
    version,
    namespace: isInNamespace ? namespace || undefined : namespace,
    isInNamespace,
    plural: segments[pluralAt] ?? '',
    name: segments[pluralAt + 1],
    subresource: segments[pluralAt + 2],
    isWatchPath,
    hasExtraSegments: segments.length > pluralAt + 3,
  };
}

/** After the name of a namespace these are subresources; no kind has such a plural. */
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
      return ''; // OPTIONS and other methods have no verb; only rules that allow all verbs cover them
  }
}

/** Returns undefined if the parameter is absent. Only `false` and `0` are false, as in kube-apiserver. */
export function readBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  return value !== '0' && value.toLowerCase() !== 'false';
}

const spelledBooleans: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

/** Undefined for a text that is no boolean in Go. */
export const parseBoolean = (text: string): boolean | undefined => spelledBooleans.get(text);

/** For parameters that destroy data: no text counts as true by accident. Throws BadRequest for one that is no boolean. */
export function readExactBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const exact = parseBoolean(value);
  if (exact === undefined)
    throw badRequest(`${name}: parsing ${JSON.stringify(value.slice(0, shownCharactersMax))}: not a boolean`);
  return exact;
}

/** Error messages truncate invalid values to this length. */
const shownCharactersMax = 64;
const int64Range = [-(2n ** 63n), 2n ** 63n - 1n] as const;

/** A 64-bit integer as a double. Throws BadRequest for anything else. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const exact = readExactInteger(query, name);
  return exact === undefined ? undefined : numberOf(exact);
}

/** A 64-bit integer with all of its digits. Throws BadRequest for anything else. */
export function readExactInteger(query: URLSearchParams, name: string): Integer | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const [, sign, digits] = /^([+-]?)0*([0-9]{1,19})$/.exec(value) ?? [];
  const exact = digits === undefined ? undefined : BigInt(sign === '-' ? `-${digits}` : digits);
  if (exact === undefined || exact < int64Range[0] || exact > int64Range[1])
    throw badRequest(`${name}: parsing ${JSON.stringify(value.slice(0, shownCharactersMax))}: not an integer`);
  return integerOf(exact);
}

export const readString = (query: URLSearchParams, name: string): string | undefined => query.get(name) ?? undefined;
