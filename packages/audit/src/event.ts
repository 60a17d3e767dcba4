import type { AuditLevel, AuditStage } from '@cluster-apiserver/config';
import type { Status, UserInfo } from '@cluster-apiserver/model';

/** One event as backends write it. Read while the event is handed to them, and not later. */
export interface AuditEvent {
  /** As an Event of audit.k8s.io/v1, on one line. */
  readonly json: string;
  readonly hasObjects: boolean;
  /** The same without the objects, and marked as truncated. */
  truncatedJson(): string;
  /** The line of the format `legacy`. */
  legacyLine(): string;
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
}

/** What an event says, besides its objects. */
export interface EventFacts {
  readonly level: AuditLevel;
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  readonly impersonationConstraint: string | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly response: ResponseStatus | undefined;
  readonly receivedMs: number;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string> | undefined;
}

export interface ResponseStatus extends Partial<Pick<Status, 'status' | 'message' | 'reason' | 'details'>> {
  readonly code: number;
}

/** The texts of the objects, as far as there are any. */
export interface EventObjects {
  readonly request: string | undefined;
  readonly response: string | undefined;
}

const truncatedKey = 'audit.k8s.io/truncated';

/** `isTruncated` is an event that lacks objects which its level would have. */
export function auditEvent(facts: EventFacts, objects: EventObjects | undefined, isTruncated: boolean): AuditEvent {
  const head = headOf(facts);
  const tail = tailOf(facts, isTruncated);
  return {
    json: `${head}${objects ? objectsOf(objects) : ''}${tail}`,
    hasObjects: objects !== undefined,
    truncatedJson: () => `${head}${tailOf(facts, true)}`,
    legacyLine: () => legacyLine(facts),
  };
}

const quote = JSON.stringify as (text: string) => string;

/** In the order in which kube-apiserver writes the members. */
function headOf(facts: EventFacts): string {
  const { user, impersonatedUser, impersonationConstraint, sourceIps, userAgent, objectRef, response } = facts;
  return (
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${facts.level}","auditID":${quote(facts.auditId)}` +
    `,"stage":"${facts.stage}","requestURI":${quote(facts.requestUri)},"verb":${quote(facts.verb)}` +
    `,"user":${user ? userText(user) : '{}'}` +
    (impersonatedUser ? `,"impersonatedUser":${userText(impersonatedUser)}` : '') +
    (impersonationConstraint
      ? `,"authenticationMetadata":{"impersonationConstraint":${quote(impersonationConstraint)}}`
      : '') +
    (sourceIps.length > 0 ? `,"sourceIPs":${JSON.stringify(sourceIps)}` : '') +
    (userAgent === '' ? '' : `,"userAgent":${quote(userAgent)}`) +
    (objectRef ? `,"objectRef":${objectRefText(objectRef)}` : '') +
    (response ? `,"responseStatus":${responseText(response)}` : '')
  );
}

const objectsOf = ({ request, response }: EventObjects): string =>
  (request === undefined ? '' : `,"requestObject":${request}`) +
  (response === undefined ? '' : `,"responseObject":${response}`);

function tailOf({ receivedMs, stageMs, annotations }: EventFacts, isTruncated: boolean): string {
  const times = `,"requestReceivedTimestamp":"${microTime(receivedMs)}","stageTimestamp":"${microTime(stageMs)}"`;
  const all = isTruncated ? new Map([...(annotations ?? []), [truncatedKey, 'true'] as const]) : annotations;
  if (!all || all.size === 0) return `${times}}`;
  // Go writes maps in the order of their keys.
  const sorted = Array.from(all).sort(([one], [other]) => (one < other ? -1 : 1));
  return `${times},"annotations":{${sorted.map(([key, value]) => `${quote(key)}:${quote(value)}`).join(',')}}}`;
}

const userTexts = new WeakMap<UserInfo, string>();

/** Most requests come from few users, whose tokens lead to the same object each time. */
function userText(user: UserInfo): string {
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

function objectRefText(ref: ObjectReference): string {
  const member = (name: string, value: string | undefined): string => (value ? `,"${name}":${quote(value)}` : '');
  const text =
    member('resource', ref.resource) +
    member('namespace', ref.namespace) +
    member('name', ref.name) +
    member('uid', ref.uid) +
    member('apiGroup', ref.apiGroup) +
    member('apiVersion', ref.apiVersion) +
    member('resourceVersion', ref.resourceVersion) +
    member('subresource', ref.subresource);
  return `{${text.slice(1)}}`;
}

function responseText({ status, message, reason, details, code }: ResponseStatus): string {
  if (status === undefined) return `{"metadata":{},"code":${code}}`;
  return JSON.stringify({ metadata: {}, status, message: message || undefined, reason, details, code });
}

/** UTC with six digits of the second. */
function microTime(ms: number): string {
  const micros = Math.floor(ms * 1_000);
  const text = new Date(Math.floor(micros / 1_000)).toISOString();
  return `${text.slice(0, -'Z'.length)}${String(micros % 1_000).padStart(3, '0')}Z`;
}

/** One line with the most important facts, as old versions of Kubernetes wrote it. */
function legacyLine(facts: EventFacts): string {
  const { user, impersonatedUser, sourceIps, objectRef, response } = facts;
  const list = (values: readonly string[]): string => quote(values.map(quote).join(','));
  const groups = user && user.groups.length > 0 ? list(user.groups) : '"<none>"';
  const asGroups = impersonatedUser ? list(impersonatedUser.groups) : '"<lookup>"';
  return (
    `${microTime(facts.receivedMs)} AUDIT: id=${quote(facts.auditId)} stage=${quote(facts.stage)}` +
    ` ip=${quote(sourceIps[0] ?? '<unknown>')} method=${quote(facts.verb)} user=${quote(user?.name || '<none>')}` +
    ` groups=${groups} as=${quote(impersonatedUser?.name ?? '<self>')} asgroups=${asGroups}` +
    ` user-agent=${quote(facts.userAgent)} namespace=${quote(objectRef?.namespace || '<none>')}` +
    ` uri=${quote(facts.requestUri)} response="${response?.code ?? '<deferred>'}"`
  );
}
