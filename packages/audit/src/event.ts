import { keepText } from '@cluster-apiserver/base';
import type { AuditLevel, AuditStage } from '@cluster-apiserver/config';
import type { Status, UserInfo } from '@cluster-apiserver/model';

/** A serialized event for backends. Valid only during `process`. */
export interface AuditEvent {
  /** As an Event of audit.k8s.io/v1, on one line. */
  readonly json: string;
  readonly hasObjects: boolean;
  /** The same without the objects, and marked as truncated. */
  truncatedJson(): string;
  /** The line of the format `legacy`. */
  formatLegacyLine(): string;
}

export interface ObjectReference {
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  uid: string | undefined;
  apiGroup: string;
  apiVersion: string;
  resourceVersion: string | undefined;
  subresource: string | undefined;
  /** Cached JSON; reset when a field changes. */
  text: string | undefined;
}

/** The part that all events of a request share, serialized once: nearly every request has several events. */
export class RequestFacts {
  readonly user: UserInfo | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly verb: string;
  readonly auditId: string;
  readonly requestUri: string;
  readonly receivedMs: number;
  readonly textBeforeStage: string;
  readonly textAfterStage: string;
  readonly source: string;
  readonly receivedTime: string;

  constructor(request: {
    readonly level: AuditLevel;
    readonly auditId: string;
    readonly requestUri: string;
    readonly verb: string;
    readonly user: UserInfo | undefined;
    readonly sourceIps: readonly string[];
    readonly userAgent: string;
    readonly receivedMs: number;
  }) {
    const { level, auditId, requestUri, verb, user, sourceIps, userAgent, receivedMs } = request;
    this.user = user;
    this.sourceIps = sourceIps;
    this.userAgent = userAgent;
    this.verb = verb;
    this.auditId = auditId;
    this.requestUri = requestUri;
    this.receivedMs = receivedMs;
    const kind = '{"kind":"Event","apiVersion":"audit.k8s.io/v1"';
    this.textBeforeStage = `${kind},"level":"${level}","auditID":${quote(auditId)},"stage":"`;
    this.textAfterStage = `","requestURI":${quote(requestUri)},"verb":${quoteFrequent(verb)},"user":${user ? serializeUser(user) : '{}'}`;
    const ips = sourceIps.length > 0 ? `,"sourceIPs":["${sourceIps.join('","')}"]` : '';
    this.source = `${ips}${userAgent === '' ? '' : `,"userAgent":${quoteFrequent(userAgent)}`}`;
    this.receivedTime = formatReceivedTime(receivedMs);
  }
}

/** The fields of an event without its objects. */
export interface EventFacts {
  readonly request: RequestFacts;
  readonly stage: AuditStage;
  readonly impersonatedUser: UserInfo | undefined;
  readonly impersonationConstraint: string | undefined;
  readonly objectRef: ObjectReference | undefined;
  readonly response: ResponseStatus | undefined;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string> | undefined;
}

export interface ResponseStatus extends Partial<Pick<Status, 'status' | 'message' | 'reason' | 'details'>> {
  readonly code: number;
}

/** The serialized objects of an event. */
export interface EventObjects {
  readonly request: string | undefined;
  readonly response: string | undefined;
}

const truncatedKey = 'audit.k8s.io/truncated';

/** A class, because each request creates some events. */
export class SerializedEvent implements AuditEvent {
  readonly #facts: EventFacts;
  readonly #head: string;
  readonly json: string;
  readonly hasObjects: boolean;

  /** `isTruncated` marks an event without the objects of its level. */
  constructor(facts: EventFacts, objects: EventObjects | undefined, isTruncated: boolean) {
    this.#facts = facts;
    this.#head = serializeHead(facts);
    this.json = `${this.#head}${objects ? serializeObjects(objects) : ''}${serializeTail(facts, isTruncated)}`;
    this.hasObjects = objects !== undefined;
  }

  truncatedJson(): string {
    return `${this.#head}${serializeTail(this.#facts, true)}`;
  }

  formatLegacyLine(): string {
    return legacyLine(this.#facts);
  }
}

const quote = (text: string): string => JSON.stringify(text);

const frequent = new Map<string, string>();
const frequentMax = 2_048;
const frequentCharactersMax = 256;

/** For texts of which most requests have one of a few, such as verbs, namespaces, user agents and reasons. */
function quoteFrequent(text: string): string {
  const known = frequent.get(text);
  if (known !== undefined) return known;
  const quoted = quote(text);
  if (frequent.size < frequentMax && text.length <= frequentCharactersMax) frequent.set(keepText(text), quoted);
  return quoted;
}

/** Fields in the order of kube-apiserver. */
function serializeHead({
  request,
  stage,
  impersonatedUser,
  impersonationConstraint,
  objectRef,
  response,
}: EventFacts): string {
  const impersonated = impersonatedUser ? `,"impersonatedUser":${serializeUser(impersonatedUser)}` : '';
  const constraint = impersonationConstraint
    ? `,"authenticationMetadata":{"impersonationConstraint":${quote(impersonationConstraint)}}`
    : '';
  const reference = objectRef ? `,"objectRef":${getReferenceText(objectRef)}` : '';
  const status = response ? `,"responseStatus":${serializeResponse(response)}` : '';
  const { textBeforeStage, textAfterStage, source } = request;
  return `${textBeforeStage}${stage}${textAfterStage}${impersonated}${constraint}${source}${reference}${status}`;
}

const serializeObjects = ({ request, response }: EventObjects): string =>
  (request === undefined ? '' : `,"requestObject":${request}`) +
  (response === undefined ? '' : `,"responseObject":${response}`);

function serializeTail({ request, stageMs, annotations }: EventFacts, isTruncated: boolean): string {
  const { receivedMs, receivedTime } = request;
  const stageTime = stageMs === receivedMs ? receivedTime : formatMicroTime(stageMs);
  const times = `,"requestReceivedTimestamp":"${receivedTime}","stageTimestamp":"${stageTime}"`;
  const all = isTruncated ? new Map([...(annotations ?? []), [truncatedKey, 'true'] as const]) : annotations;
  return all && all.size > 0 ? `${times},"annotations":{${serializeAnnotations(all)}}}` : `${times}}`;
}

/** Sorted by key, as Go serializes maps. */
function serializeAnnotations(annotations: ReadonlyMap<string, string>): string {
  let text = '';
  let last = '';
  for (const [key, value] of annotations) {
    if (key < last) return serializeAnnotations(new Map(Array.from(annotations).sort(byKey)));
    text += `${last === '' ? '' : ','}${quoteFrequent(key)}:${quoteFrequent(value)}`;
    last = key;
  }
  return text;
}

const byKey = ([one]: [string, string], [other]: [string, string]): number => (one < other ? -1 : 1);

const userTexts = new WeakMap<UserInfo, string>();

/** The token cache returns the same object for most requests of a user. */
function serializeUser(user: UserInfo): string {
  let text = userTexts.get(user);
  if (text === undefined) {
    const { name, uid, groups, extra = {} } = user;
    const keys = Object.keys(extra).sort();
    text = JSON.stringify({
      username: name === '' ? undefined : name,
      uid: uid === '' ? undefined : uid,
      groups: groups.length > 0 ? groups : undefined,
      extra: keys.length > 0 ? Object.fromEntries(keys.map((key) => [key, extra[key]])) : undefined,
    });
    userTexts.set(user, text);
  }
  return text;
}

function getReferenceText(ref: ObjectReference): string {
  ref.text ??= serializeReference(ref);
  return ref.text;
}

function serializeReference(ref: ObjectReference): string {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = ref;
  let text = '';
  if (resource) text += `,"resource":${quoteFrequent(resource)}`;
  if (namespace) text += `,"namespace":${quoteFrequent(namespace)}`;
  if (name) text += `,"name":${quote(name)}`;
  if (uid) text += `,"uid":${quote(uid)}`;
  if (apiGroup) text += `,"apiGroup":${quoteFrequent(apiGroup)}`;
  if (apiVersion) text += `,"apiVersion":${quoteFrequent(apiVersion)}`;
  if (resourceVersion) text += `,"resourceVersion":${quote(resourceVersion)}`;
  if (subresource) text += `,"subresource":${quoteFrequent(subresource)}`;
  return `{${text.slice(1)}}`;
}

function serializeResponse({ status, message, reason, details, code }: ResponseStatus): string {
  if (status === undefined) return `{"metadata":{},"code":${code}}`;
  return JSON.stringify({ metadata: {}, status, message: message || undefined, reason, details, code });
}

/** Caches the formatted second: many events have the same. */
let lastSecond = { second: Number.NaN, text: '' };
/** The same for the time when requests were received, which is in whole milliseconds. */
let lastReceived = { ms: Number.NaN, text: '' };

function formatReceivedTime(ms: number): string {
  if (ms !== lastReceived.ms) lastReceived = { ms, text: formatMicroTime(ms) };
  return lastReceived.text;
}

/** RFC 3339 in UTC with microseconds. */
function formatMicroTime(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond.second)
    lastSecond = { second, text: new Date(second * 1_000).toISOString().slice(0, -'000Z'.length) };
  const micros = Math.floor((ms - second * 1_000) * 1_000);
  return `${lastSecond.text}${String(micros).padStart(6, '0')}Z`;
}

/** One line with the most important fields, in the legacy format of Kubernetes. */
function legacyLine({ request, stage, impersonatedUser, objectRef, response }: EventFacts): string {
  const { user, sourceIps } = request;
  const list = (values: readonly string[]): string => quote(values.map(quote).join(','));
  const groups = user && user.groups.length > 0 ? list(user.groups) : '"<none>"';
  const asGroups = impersonatedUser ? list(impersonatedUser.groups) : '"<lookup>"';
  return (
    `${request.receivedTime} AUDIT: id=${quote(request.auditId)} stage=${quote(stage)}` +
    ` ip=${quote(sourceIps[0] ?? '<unknown>')} method=${quote(request.verb)} user=${quote(user?.name || '<none>')}` +
    ` groups=${groups} as=${quote(impersonatedUser?.name ?? '<self>')} asgroups=${asGroups}` +
    ` user-agent=${quote(request.userAgent)} namespace=${quote(objectRef?.namespace || '<none>')}` +
    ` uri=${quote(request.requestUri)} response="${response?.code ?? '<deferred>'}"`
  );
}
