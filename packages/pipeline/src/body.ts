import {
  type Call,
  type Clock,
  getOwn,
  inSpan,
  largeBytesMin,
  perform,
  type Steps,
  trackLatency,
} from '@cluster-apiserver/base';
import {
  badRequest,
  decode,
  fieldErrorsMax,
  type JsonScan,
  type KubeObject,
  MalformedTextError,
  type Parsed,
  NestedTooDeepError,
  nestingMax,
  parseDeepJson,
  parseJson,
  parseProtobuf,
  parseYaml,
  scanJson,
  type SpokenKind,
  StatusError,
  TooManyValuesError,
  type TypeNames,
  withExplicitReset,
  WrongTypeError,
  YamlTooLargeError,
} from '@cluster-apiserver/model';
import { type ApiRequest, BodyMemoryError, BodyTooLargeError, BodyTooSlowError } from './exchange.ts';
import type { AuthenticatedContext } from './request-context.ts';

/** What one request may send. The storage takes half of it; patches and lists of options need no more. */
const bodyBytesMax = 3 * 1024 * 1024;

/** Reads a body. What is no text has to be told the form of what it holds, by kind and version. */
export type BodyFormat = (body: Buffer, schemaOf: SchemaOf) => Steps<Parsed>;
type SchemaOf = Parameters<typeof parseProtobuf>[1];

/** The scan comes first, alone: what it refuses is never parsed. */
export function* parseJsonBody(body: Buffer): Steps<Parsed> {
  const text = body.toString();
  const scan = scanOrThrowLater(text);
  yield;
  return parseJson(text, scan);
}

/** The same for the body of an object: what is nested deeper is allowed in fields that its kind does not have. */
function* parseObjectJson(body: Buffer): Steps<Parsed> {
  const text = body.toString();
  const scan = scanOrThrowLater(text);
  yield;
  return parseDeepJson(text, scan);
}

/** The scan, or what it throws, for the parser that tells it. */
function scanOrThrowLater(text: string): () => JsonScan {
  try {
    const scan = scanJson(text);
    return () => scan;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

export function* parseYamlBody(body: Buffer): Steps<Parsed> {
  const text = body.toString();
  yield;
  return parseYaml(text);
}

const textFormats: Readonly<Record<string, BodyFormat>> = {
  'application/json': parseObjectJson,
  'application/yaml': parseYamlBody,
};
const formats: Readonly<Record<string, BodyFormat>> = {
  ...textFormats,
  'application/vnd.kubernetes.protobuf': function* (body, schemaOf) {
    yield;
    return parseProtobuf(body, schemaOf);
  },
};

/** How to treat what a kind does not know or a text says twice. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The body of a request, which holds no seat while it arrives: clients that send slowly would take those of all others. */
export async function readBody({
  request,
  seat,
  call,
  latency,
}: Pick<AuthenticatedContext, 'request' | 'seat' | 'call' | 'latency'>): Promise<Buffer> {
  seat?.release();
  const received = call.trace ? inSpan(call, 'read body', () => receiveBody(request)) : receiveBody(request);
  const body = await trackLatency(latency, 'body', received);
  seat?.reacquire();
  return body;
}

async function receiveBody(request: ApiRequest): Promise<Buffer> {
  try {
    return await request.body(bodyBytesMax);
  } catch (error) {
    if (error instanceof BodyTooLargeError)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
        cause: error,
      });
    if (error instanceof BodyTooSlowError)
      throw new StatusError('RequestTimeout', 'the body of the request did not arrive in time', undefined, {
        cause: error,
      });
    if (error instanceof BodyMemoryError)
      throw new StatusError(
        'TooManyRequests',
        'too many request bodies are on their way, please try again later',
        { retryAfterSeconds: 1 },
        { cause: error },
      );
    throw error;
  }
}

/** The reader of a body by its content type; a body that names none is JSON. Throws UnsupportedMediaType. */
export function formatOfBody(request: ApiRequest, { hasProtobuf }: Pick<SpokenKind, 'hasProtobuf'>): BodyFormat {
  const type = mediaTypeOf(request);
  if (type === undefined || type === '') return parseObjectJson;
  const taken = hasProtobuf ? formats : textFormats;
  const format = getOwn(taken, type);
  if (format) return format;
  throw new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${Object.keys(taken).join(', ')}`,
  );
}

/** The content type without its parameters, which change nothing here. */
export const mediaTypeOf = (request: ApiRequest): string | undefined =>
  request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase();

/** An object of the kind, in canonical form, or an answer that says why the body is none. */
export function readObject(
  kind: SpokenKind,
  body: Buffer,
  format: BodyFormat,
  validation: FieldValidation,
  warn: (text: string) => void,
  clock: Clock,
  call: Call,
): KubeObject | Promise<KubeObject> {
  return perform(clock, call, parseObject(kind, body, format, validation, warn), body.length >= largeBytesMin);
}

function* parseObject(
  kind: SpokenKind,
  body: Buffer,
  format: BodyFormat,
  validation: FieldValidation,
  warn: (text: string) => void,
): Steps<KubeObject> {
  const isOne = ({ kind: given, apiVersion }: Partial<TypeNames>): boolean =>
    (given || kind.kind) === kind.kind && (apiVersion || kind.apiVersion) === kind.apiVersion;
  const schemaOf: SchemaOf = (names) => (isOne(names) ? kind.schema : undefined);
  const parsed = yield* rejectUnparsable(
    format(body, schemaOf),
    `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind`,
  );
  yield;
  return decodeObject(kind, parsed, validation, warn);
}

function decodeObject(
  kind: SpokenKind,
  parsed: Parsed,
  validation: FieldValidation,
  warn: (text: string) => void,
): KubeObject {
  const typed = withExplicitReset(withTypeNames(kind, parsed.value));
  const unknown: string[] = [];
  try {
    const object = decode(kind.schema, typed, (path) => unknown.push(path)) as KubeObject;
    requireKnownFieldsNotDeep(kind, parsed, unknown);
    const outermost = unknown.slice(0, fieldErrorsMax); // of more than these not all are listed anyway
    const faults = [
      ...parsed.faults
        .filter(({ path }) => !outermost.some((outer) => isWithin(path, outer)))
        .map(({ message }) => message),
      ...unknown.map(unknownFieldMessage),
    ];
    reportFieldProblems(
      faults,
      validation,
      warn,
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: `,
    );
    return object;
  } catch (error) {
    if (error instanceof WrongTypeError) requireKnownFieldsNotDeep(kind, parsed, []);
    if (error instanceof WrongTypeError)
      throw badRequest(
        `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${error.message}`,
        error,
      );
    throw error;
  }
}

/** What its kind does not have has been dropped as a whole. */
function requireKnownFieldsNotDeep(kind: SpokenKind, { deepPaths = [] }: Parsed, unknown: readonly string[]): void {
  const deep = deepPaths.find((path) => !unknown.some((outer) => isWithin(path, outer)));
  if (deep !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${new NestedTooDeepError(deep, nestingMax).message}`,
    );
}

/** A path is cut here: the names in it are the client's. */
const pathCharactersMax = 1024;

export const unknownFieldMessage = (path: string): string =>
  `unknown field ${JSON.stringify(path.length <= pathCharactersMax ? path : `${path.slice(0, pathCharactersMax)}…`)}`;

/** Refuses or tells what strict validation found, as the client asked. */
export function reportFieldProblems(
  faults: readonly string[],
  validation: FieldValidation,
  warn: (text: string) => void,
  where = '',
): void {
  if (faults.length === 0 || validation === 'Ignore') return;
  const omitted = faults.length - fieldErrorsMax;
  const listed = [...faults.slice(0, fieldErrorsMax), ...(omitted > 0 ? [`and ${omitted} more`] : [])];
  if (validation === 'Strict') throw badRequest(`${where}strict decoding error: ${listed.join(', ')}`);
  for (const fault of listed) warn(fault);
}

/** The fields below an unknown one are unknown with it and not told again. */
const isWithin = (path: string | undefined, outer: string): boolean =>
  path !== undefined && (path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`));

/** What a body says, or an answer that says why nobody can read it. */
export function* rejectUnparsable(parse: Steps<Parsed>, what: string): Steps<Parsed> {
  try {
    return yield* parse;
  } catch (error) {
    if (error instanceof MalformedTextError) throw badRequest(`${what}: ${error.message}`, error);
    if (error instanceof YamlTooLargeError || error instanceof TooManyValuesError)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
        cause: error,
      });
    throw error;
  }
}

/** The value with the kind and version that the endpoint implies, unless it names others. */
function withTypeNames(kind: SpokenKind, value: unknown): unknown {
  if (value !== null && (typeof value !== 'object' || Array.isArray(value)))
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): it is no object`);
  const { kind: givenKind, apiVersion: givenVersion } = (value ?? {}) as Record<string, unknown>;
  for (const [name, given] of Object.entries({ kind: givenKind, apiVersion: givenVersion })) {
    if (given !== undefined && given !== null && typeof given !== 'string')
      throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${name} must be a string`);
  }
  const [namedKind, namedVersion] = [givenKind || kind.kind, givenVersion || kind.apiVersion];
  if (namedKind !== kind.kind || namedVersion !== kind.apiVersion) {
    throw badRequest(
      `${namedKind} in version ${JSON.stringify(namedVersion)} cannot be handled as a ${kind.kind}: this endpoint takes ${kind.kind} in version ${JSON.stringify(kind.apiVersion)}`,
    );
  }
  return { ...value, kind: kind.kind, apiVersion: kind.apiVersion };
}
