import { BoundedCache, bytesOfText, keepText, unreachable } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import type { MetaVersion, EncodableKind, TableOptions } from '@cluster-apiserver/model/kind';
import type { ApiRequest } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import { parseBoolean } from '../request-info.ts';
import { type Encoding, type MediaType, mediaTypes } from './encode.ts';
import { coversType, type MediaRange, namesType, parseMediaRanges } from './media-ranges.ts';

/** The format of a response: its serialization, and an optional transformation. */
export interface ResponseFormat {
  readonly encoding: Encoding;
  /** Set if the client requests a table or metadata instead of the object or list. */
  readonly transform?: Transform;
}

export type Transform =
  | TableTransform
  | { readonly as: 'PartialObjectMetadata' | 'PartialObjectMetadataList'; readonly version: MetaVersion };

export interface TableTransform {
  readonly as: 'Table';
  readonly version: MetaVersion;
  readonly include: TableOptions['include'];
}

/** What a client may request. */
interface Offer {
  /** In order of preference: a client that accepts everything gets the first. */
  readonly types: readonly MediaType[];
  /** The transformations that are available. */
  readonly shows: readonly Transform['as'][];
  /** Whether what is not transformed can be encoded in protobuf, as all metadata can. */
  readonly hasProtobuf: boolean;
  /** Whether a client has to name one of the types in full, or accept everything: so does the router of kube-apiserver. */
  readonly isRouted: boolean;
  /** By texts of Accept headers: real clients send one of a few, which are long. */
  readonly chosen: BoundedCache<Choice>;
}

const texts: readonly MediaType[] = ['application/json', 'application/yaml'];
const all: readonly MediaType[] = [...texts, 'application/vnd.kubernetes.protobuf'];
const isStreamed = (type: MediaType): boolean => type !== 'application/yaml';
const asStream = (type: MediaType): string => `${type};stream=watch`;
/** Collections can be watched, too. */
const listed: readonly string[] = [...all, ...all.filter(isStreamed).map(asStream)];
const createOffer = (
  types: Offer['types'],
  shows: Offer['shows'],
  { hasProtobuf = true, isRouted = true } = {},
): Offer => ({
  types,
  shows,
  hasProtobuf,
  isRouted,
  chosen: new BoundedCache({ entriesMax: chosenMax, bytesMax: chosenBytesMax, bytesOf: bytesOfText }),
});
/** A client may send any text, as long as a head may be. */
const chosenMax = 128;
const chosenBytesMax = 64 * 1024;

const metadataAlone: readonly Transform['as'][] = ['PartialObjectMetadata', 'PartialObjectMetadataList'];

const documents = createOffer(texts, [], { isRouted: false });
const untransformed = createOffer(all, [], { isRouted: false });
const objects = createOffer(all, ['Table', ...metadataAlone]);
const customObjects = createOffer(all, ['Table', ...metadataAlone], { hasProtobuf: false, isRouted: false });
const unstoredObjects = createOffer(all, metadataAlone);

function offerOf({ hasProtobuf, columns }: EncodableKind): Offer {
  if (columns.length === 0) return unstoredObjects;
  return hasProtobuf ? objects : customObjects;
}

/** Most responses have this format; sharing it avoids an allocation. */
const json: ResponseFormat = { encoding: 'json' };

/**
 * The encoding of discovery and OpenAPI documents. All these functions throw NotAcceptable if the client accepts none
 * of the formats.
 */
export const negotiateDocument = (context: RequestInfoContext, hasProtobuf = false): Encoding =>
  negotiate(context.request, context.info.query, hasProtobuf ? untransformed : documents).encoding;

/** The format of one object, or of a Status instead of it. */
export const negotiateObject = (context: RequestInfoContext, kind: EncodableKind): ResponseFormat =>
  negotiateOne(context, kind, all);

function negotiateOne(
  { request, info }: RequestInfoContext,
  kind: EncodableKind,
  named: readonly string[],
): ResponseFormat {
  const format = negotiate(request, info.query, offerOf(kind), named);
  if (format.transform?.as === 'PartialObjectMetadataList')
    throw notAcceptableError('you requested PartialObjectMetadataList, but the requested object is not a list');
  return format;
}

/** The format of a list, which is `requireListForm` once the list is there: as in kube-apiserver, other errors come first. */
export const negotiateList = ({ request, info }: RequestInfoContext, kind: EncodableKind): ResponseFormat =>
  negotiate(request, info.query, offerOf(kind), listed);

export function requireListForm({ transform }: ResponseFormat, { kind }: EncodableKind): void {
  if (transform?.as === 'PartialObjectMetadata')
    throw notAcceptableError(`you requested PartialObjectMetadata, but the requested object is a list (${kind}List)`);
}

/** The format of watch events, which are never indented. */
export function negotiateWatch(context: RequestInfoContext, kind: EncodableKind): ResponseFormat {
  const format = negotiateOne(context, kind, listed);
  switch (format.encoding) {
    case 'json':
    case 'protobuf':
      return format;
    case 'prettyJson':
      return format.transform ? { ...format, encoding: 'json' } : json;
    case 'yaml':
      throw notAcceptableError(acceptedTypesMessage(offerOf(kind).types.filter(isStreamed).map(asStream)));
    default:
      return unreachable(format.encoding);
  }
}

/** The encoding of an error: the requested one if possible, otherwise indented JSON. */
export function negotiateError(request: ApiRequest, query: URLSearchParams | undefined): Encoding {
  try {
    return negotiate(request, query, untransformed).encoding;
  } catch {
    return 'prettyJson';
  }
}

/** `named` are the types that an error names, of a kind that is built in. */
function negotiate(
  request: ApiRequest,
  query: URLSearchParams | undefined,
  offer: Offer,
  named: readonly string[] = offer.types,
): ResponseFormat {
  const accept = request.header('accept');
  if (accept === undefined || accept === 'application/json' || accept === '*/*')
    return isPretty(request, query) ? { encoding: 'prettyJson' } : json;
  let choice = offer.chosen.get(accept);
  if (!choice) {
    choice = choose(parseMediaRanges(accept), offer);
    offer.chosen.set(keepText(accept), choice);
  }
  const include = choice.isTableRequested ? readIncludeObject(query) : undefined;
  const { type, shape, isIndented } = choice;
  if (!type) {
    // As in kube-apiserver: its router refuses unknown media types, except for custom kinds.
    if (!choice.isKnownType && offer.hasProtobuf)
      throw notAcceptableError(`406: Not Acceptable\n\nAvailable representations: ${named.join(', ')}`, {});
    throw notAcceptableError(acceptedTypesMessage(offer.types));
  }
  const encoding = mediaTypes[type];
  const pretty = encoding === 'json' && (isIndented || isPretty(request, query));
  return {
    encoding: pretty ? 'prettyJson' : encoding,
    ...(shape && { transform: toTransform(shape, include) }),
  };
}

/** What a text of an Accept header chooses of an offer, whatever else the request says. */
interface Choice {
  /** Undefined if the client accepts none. */
  readonly type: MediaType | undefined;
  readonly shape: Shape | undefined;
  readonly isIndented: boolean;
  readonly isKnownType: boolean;
  /** Whether a table was considered, so that its parameters have to be valid. */
  readonly isTableRequested: boolean;
}

function choose(ranges: readonly MediaRange[], offer: Offer): Choice {
  const { types } = offer;
  const isKnownType = ranges.some((range) =>
    types.some((type) => (offer.isRouted ? namesType(range, type) : coversType(range, type))),
  );
  let isTableRequested = false;
  for (const range of ranges)
    for (const type of types) {
      if (!isKnownType || !coversType(range, type) || !canStream(range, type)) continue;
      const shape = requestedShape(range);
      if (shape !== 'unknown' && shape?.as === 'Table') isTableRequested = true;
      if (shape === 'unknown' || !canShow(type, shape, offer)) continue;
      const isIndented = range.parameters.get('pretty') === '1';
      return { type, shape, isIndented, isKnownType, isTableRequested };
    }
  return { type: undefined, shape: undefined, isIndented: false, isKnownType, isTableRequested };
}

/** Only watch events can be streamed. For other responses the parameter has no effect. */
function canStream({ parameters }: MediaRange, type: MediaType): boolean {
  const stream = parameters.get('stream');
  return !stream || (stream === 'watch' && isStreamed(type));
}

/** Cells of a table have any type, which protobuf cannot encode. */
function canShow(type: MediaType, shape: Shape | undefined, { shows, hasProtobuf }: Offer): boolean {
  const isProtobuf = mediaTypes[type] === 'protobuf';
  if (!shape) return hasProtobuf || !isProtobuf;
  return shows.includes(shape.as) && !(shape.as === 'Table' && isProtobuf);
}

const metaVersions: readonly MetaVersion[] = ['v1', 'v1beta1'];

/** A transformation, without the parameters that are in the query. */
type Shape = Pick<Transform, 'as' | 'version'>;
const shapes: readonly Shape['as'][] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

function requestedShape({ parameters }: MediaRange): Shape | 'unknown' | undefined {
  const [as, group, requested] = ['as', 'g', 'v'].map((name) => parameters.get(name));
  if (as === undefined && group === undefined && requested === undefined) return undefined;
  const version = metaVersions.find((one) => one === requested);
  const shape = shapes.find((one) => one === as);
  return group === 'meta.k8s.io' && version && shape ? { as: shape, version } : 'unknown';
}

function toTransform({ as, version }: Shape, include: TableOptions['include'] = 'Metadata'): Transform {
  return as === 'Table' ? { as, version, include } : { as, version };
}

function readIncludeObject(query: URLSearchParams | undefined): TableOptions['include'] {
  const requested = query?.get('includeObject') || 'Metadata';
  if (requested === 'None' || requested === 'Metadata' || requested === 'Object') return requested;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: ${JSON.stringify(requested)} is none of "Metadata", "None", "Object"`,
  );
}

export function isPretty(request: ApiRequest, query: URLSearchParams | undefined): boolean {
  const requested = query?.get('pretty');
  if (requested) return parseBoolean(requested) ?? false;
  const agent = request.header('user-agent') ?? '';
  return prettyAgents.some((prefix) => agent.startsWith(prefix));
}

/** Browsers and command-line tools, whose output people read. kube-apiserver knows the first three. */
const prettyAgents = ['curl', 'Wget', 'Mozilla/', 'Opera/', 'HTTPie/', 'xh/'] as const;

const acceptedTypesMessage = (types: readonly string[]): string =>
  `only the following media types are accepted: ${types.join(', ')}`;

const notAcceptableError = (message: string, details?: object): StatusError =>
  new StatusError('NotAcceptable', message, details);
