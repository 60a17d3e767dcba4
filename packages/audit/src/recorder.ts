import { type Clock, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { AuditPolicy, AuditRule, AuditStage } from '@cluster-apiserver/config';
import { type Status, StatusError, type UserInfo } from '@cluster-apiserver/model';
import { isJsonObject, joinTexts } from '@cluster-apiserver/model/json';
import type { AuditMeasures } from './audit-measures.ts';
import type { AuditBackend } from './backend.ts';
import {
  type EventFacts,
  type EventObjects,
  type ObjectReference,
  RequestFacts,
  type ResponseStatus,
  SerializedEvent,
} from './event.ts';
import { compact, holdsTokens, serialize, dropManagedFields, hideTokens } from './object-text.ts';
import { type AuditedResource, evaluatePolicy } from './policy.ts';
import { auditedTarget } from './shown-target.ts';
import { type RequestSource, findSourceIps } from './source-ips.ts';

/** What auditing requires of a request. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly request: RequestSource & {
    /** Path and query, unmodified. */
    readonly target: string;
    onEnd(listener: () => void): void;
  };
  readonly info: {
    readonly verb: string;
    readonly path: string;
    readonly resource: AuditedResource | undefined;
  };
}

/** As in kube-apiserver. */
const userAgentCharactersMax = 1024;
const userAgentSuffix = '...TRUNCATED';

/** Maximum characters of objects that are being serialized, over all requests. Further events have no objects. */
const serializingCharactersMax = 64 * 1024 * 1024;

interface AuditorOptions {
  readonly clock: Clock;
  /** The active policy, which is evaluated once per request. */
  readonly policy: () => AuditPolicy;
  readonly backend: AuditBackend;
  readonly measures: AuditMeasures;
  /** Called with an error because of which objects were omitted from an event. */
  readonly report: (error: unknown) => void;
}

/** Shared by all recorders. */
interface RecorderContext extends AuditorOptions {
  /** A larger object is omitted from its event; 0 if no backend writes objects. */
  readonly objectCharactersMax: number;
  /** Characters of the objects that are being serialized. */
  serializingCharacters: number;
}

/** Records requests by the audit policy. */
export function createAuditor(options: AuditorOptions): {
  begin(request: AuditedRequest, name: string | undefined): Recorder;
} {
  const { objectCharactersMax } = options.backend;
  const context: RecorderContext = { ...options, objectCharactersMax, serializingCharacters: 0 };
  return { begin: (request, name) => new Recorder(context, request, name) };
}

/** Serializes an object in steps; undefined for one that must not be recorded. */
type ObjectText = () => SyncTask<string | undefined>;

/** The events of one request. A class, because each request has one. */
class Recorder {
  readonly #context: RecorderContext;
  readonly #request: AuditedRequest;
  readonly #receivedMs: number;
  readonly #beganMs: number;
  readonly #objectRef: ObjectReference | undefined;
  readonly #holdsTokens: boolean;
  /** Whether the objects are Secrets, whose data, such as tokens without an expiration, no policy can record. */
  readonly #isSecret: boolean;
  /** Undefined before the policy is evaluated, and if nothing is recorded. */
  #rule: AuditRule | undefined;
  #isEvaluated = false;
  #user: UserInfo | undefined;
  #impersonatedUser: UserInfo | undefined;
  #impersonationConstraint: string | undefined;
  /** Undefined if `#rule` is. */
  #facts: RequestFacts | undefined;
  #annotations: Map<string, string> | undefined;
  #responseStatus: Status | undefined;
  #requestObject: ObjectText | undefined;
  #responseObject: ObjectText | undefined;
  #objectCharacters = 0;
  #isTruncated = false;

  constructor(context: RecorderContext, request: AuditedRequest, name: string | undefined) {
    this.#context = context;
    this.#request = request;
    this.#receivedMs = context.clock.now();
    this.#beganMs = context.clock.monotonicMs();
    const { resource } = request.info;
    this.#holdsTokens = resource !== undefined && holdsTokens(resource.group, resource.plural, resource.subresource);
    this.#isSecret = resource?.group === '' && resource.plural === 'secrets';
    this.#objectRef = resource && {
      resource: resource.plural,
      namespace: resource.namespace,
      name,
      uid: undefined,
      apiGroup: resource.group,
      apiVersion: resource.version,
      resourceVersion: undefined,
      subresource: resource.subresource,
      text: undefined,
    };
  }

  logRequestReceived(user: UserInfo): Promise<void> | undefined {
    this.#user = user;
    this.#evaluate();
    const admitted = this.#requireRoom();
    if (admitted) return admitted.then(() => this.#recordReceived());
    return this.#recordReceived();
  }

  #recordReceived(): Promise<void> | undefined {
    const recorded = this.#record('RequestReceived', undefined);
    if (typeof recorded !== 'boolean') return recorded.then((isRecorded) => this.#requireRecorded(isRecorded));
    return recorded ? undefined : Promise.reject(this.#refuse(notStored()));
  }

  /** The events of the request must have room before it has an effect or a response. */
  #requireRoom(): Promise<void> | undefined {
    const hasRoom = !this.#rule || this.#context.backend.waitForRoom();
    if (hasRoom === true) return undefined;
    return Promise.resolve(hasRoom).then((has) => {
      if (!has) throw this.#refuse(tooManyEvents());
    });
  }

  logImpersonatedUser(user: UserInfo, constraint: string | undefined): void {
    this.#impersonatedUser = user;
    this.#impersonationConstraint = constraint;
  }

  annotate(key: string, value: string): void {
    this.#annotations ??= new Map();
    if (!this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  logRequestObject(object: object, bodyBytes: number): void {
    this.#completeReference(object);
    if (this.#acceptsObject('Request', bodyBytes)) this.#requestObject = () => serialize(object);
  }

  logRequestPatch(json: Buffer): void {
    if (this.#acceptsObject('Request', json.length)) this.#requestObject = () => compact(json.toString());
  }

  get wantsResponseObject(): boolean {
    return this.#rule?.level === 'RequestResponse' && this.#context.objectCharactersMax > 0 && !this.#isSecret;
  }

  logResponseObject(texts: Iterable<string | undefined>, characters: number): void {
    if (this.#acceptsObject('RequestResponse', characters)) this.#responseObject = () => joinTexts(texts);
  }

  logResponseStatus(status: Status): void {
    this.#responseStatus = status;
  }

  logResponse(code: number, sentLater: boolean): Promise<void> | undefined {
    const { info, request } = this.#request;
    const status = this.#responseStatus;
    const response: ResponseStatus = status ? { ...status, code } : { code };
    if (status) this.#recordStatus(status);
    if (info.resource && info.verb === 'watch') {
      const recorded = this.#record('ResponseStarted', response);
      request.onEnd(() => void this.#record('ResponseComplete', response));
      return toVoid(recorded);
    }
    if (!sentLater) return toVoid(this.#record('ResponseComplete', response));
    request.onEnd(() => void this.#record('ResponseComplete', response));
    return undefined;
  }

  logFailure(failure: StatusError, isInternal: boolean): Promise<void> | undefined {
    const isKnown = this.#user !== undefined;
    this.#evaluate();
    const admitted = isKnown ? undefined : this.#requireRoom();
    if (admitted) return admitted.then(() => this.#recordFailure(failure, isInternal, isKnown));
    return this.#recordFailure(failure, isInternal, isKnown);
  }

  #recordFailure(failure: StatusError, isInternal: boolean, isKnown: boolean): Promise<void> | undefined {
    const status = failure.toStatus();
    if (isInternal) {
      const message = `APIServer panic'd: ${failure.cause instanceof Error ? failure.cause.message : String(failure.cause)}`;
      const response: ResponseStatus = { status: 'Failure', message, reason: 'InternalError', code: failure.code };
      return toVoid(this.#record('Panic', response));
    }
    const response: ResponseStatus = { ...status, code: failure.code };
    this.#recordStatus(status);
    const isWatch = this.#request.info.resource !== undefined && this.#request.info.verb === 'watch';
    const started = isWatch || !isKnown ? toVoid(this.#record('ResponseStarted', response)) : undefined;
    // As in kube-apiserver, a request that was not authenticated has no other stage.
    const complete = isKnown ? toVoid(this.#record('ResponseComplete', response)) : undefined;
    return started && complete ? started.then(() => complete) : (started ?? complete);
  }

  /** Evaluates the policy once per request, even if it is reloaded meanwhile. */
  #evaluate(): void {
    if (this.#isEvaluated) return;
    this.#isEvaluated = true;
    const { info } = this.#request;
    const { policy, measures } = this.#context;
    const attributes = { ...info, user: this.#user, name: this.#objectRef?.name };
    this.#rule = evaluatePolicy(policy(), attributes);
    measures.level(this.#rule?.level ?? 'None');
    if (!this.#rule) return;
    const { auditId, request } = this.#request;
    const agent = request.header('user-agent') ?? '';
    this.#facts = new RequestFacts({
      level: this.#rule.level,
      auditId,
      requestUri: auditedTarget(request.target),
      verb: info.verb,
      user: this.#user,
      sourceIps: findSourceIps(request),
      userAgent:
        agent.length > userAgentCharactersMax ? agent.slice(0, userAgentCharactersMax) + userAgentSuffix : agent,
      receivedMs: this.#receivedMs,
    });
  }

  #requireRecorded(isRecorded: boolean): void {
    if (!isRecorded) throw this.#refuse(notStored());
  }

  /** Rejects the request; nothing else is recorded of it. */
  #refuse(refusal: StatusError): StatusError {
    this.#rule = undefined;
    this.#context.measures.rejected();
    return refusal;
  }

  /** Adds fields of the object that the path does not contain. */
  #completeReference(object: object): void {
    const metadata = 'metadata' in object ? object.metadata : undefined;
    if (!this.#objectRef || !isJsonObject(metadata)) return;
    const { namespace, name, uid, resourceVersion } = metadata;
    this.#objectRef.text = undefined;
    this.#objectRef.namespace ||= toText(namespace);
    this.#objectRef.name ||= toText(name);
    this.#objectRef.uid ||= toText(uid);
    this.#objectRef.resourceVersion ||= toText(resourceVersion);
  }

  /** Whether the level includes the object and the event has space for it. */
  #acceptsObject(level: 'Request' | 'RequestResponse', characters: number): boolean {
    const { objectCharactersMax } = this.#context;
    if (objectCharactersMax === 0 || this.#isSecret || !this.#rule || this.#rule.level === 'Metadata') return false;
    if (level === 'RequestResponse' && this.#rule.level === 'Request') return false;
    this.#objectCharacters += characters;
    if (this.#objectCharacters > objectCharactersMax) this.#isTruncated = true;
    return !this.#isTruncated;
  }

  #recordStatus(status: Status): void {
    if (this.wantsResponseObject) this.logResponseObject([JSON.stringify(status)], 0);
  }

  /** Passes the event of a stage to the backends. Returns a promise if the request must wait. */
  #record(stage: AuditStage, response: ResponseStatus | undefined): boolean | Promise<boolean> {
    const request = this.#facts;
    if (!this.#rule || !request || this.#rule.omitStages.has(stage)) return true;
    const { clock, measures } = this.#context;
    measures.event();
    const facts: EventFacts = {
      request,
      stage,
      impersonatedUser: this.#impersonatedUser,
      impersonationConstraint: this.#impersonationConstraint,
      objectRef: this.#objectRef,
      response,
      stageMs: stage === 'RequestReceived' ? this.#receivedMs : this.#receivedMs + clock.monotonicMs() - this.#beganMs,
      annotations: this.#annotations,
    };
    if (stage === 'RequestReceived' || (!this.#requestObject && !this.#responseObject))
      return this.#process(facts, undefined);
    return this.#recordWithObjects(facts);
  }

  #process(facts: EventFacts, objects: EventObjects | undefined): boolean | Promise<boolean> {
    return this.#context.backend.process(new SerializedEvent(facts, objects, this.#isTruncated));
  }

  #recordWithObjects(facts: EventFacts): boolean | Promise<boolean> {
    const reserved = this.#isTruncated ? undefined : this.#context.backend.reserve(this.#objectCharacters);
    if (!(reserved instanceof Promise)) return this.#recordReserved(facts, reserved);
    return this.#track(reserved.then((release) => this.#recordReserved(facts, release)));
  }

  /** Without room for the objects the event is recorded without them. */
  #recordReserved(facts: EventFacts, release: (() => void) | undefined): boolean | Promise<boolean> {
    if (!release) {
      this.#isTruncated = true;
      return this.#process(facts, undefined);
    }
    const process = (objects: EventObjects | undefined): boolean | Promise<boolean> => {
      try {
        return this.#process(facts, objects);
      } finally {
        release();
      }
    };
    const serialized = this.#serializeObjects();
    return serialized instanceof Promise ? this.#track(serialized.then(process)) : process(serialized);
  }

  #serializeObjects(): EventObjects | undefined | Promise<EventObjects | undefined> {
    const context = this.#context;
    const characters = this.#objectCharacters;
    if (context.serializingCharacters + characters > serializingCharactersMax) {
      this.#isTruncated = true;
      return undefined;
    }
    const written = runTask(context.clock, undefined, this.#writeObjects(), characters >= largeBytesMin);
    if (!(written instanceof Promise)) return written;
    context.serializingCharacters += characters;
    return written
      .catch((error: unknown) => {
        context.report(error);
        this.#isTruncated = true;
        return undefined;
      })
      .finally(() => {
        context.serializingCharacters -= characters;
      });
  }

  #track(processed: Promise<boolean>): boolean | Promise<boolean> {
    const { backend } = this.#context;
    backend.track(processed);
    return backend.isBlocking ? processed : true;
  }

  *#writeObjects(): SyncTask<EventObjects | undefined> {
    const request = yield* this.#serializeObject(this.#requestObject);
    const response = yield* this.#serializeObject(this.#responseObject);
    return this.#isTruncated ? undefined : { request, response };
  }

  *#serializeObject(object: ObjectText | undefined): SyncTask<string | undefined> {
    const whole = object && (yield* object());
    if (whole === undefined) return undefined;
    const text = this.#rule?.omitManagedFields ? yield* dropManagedFields(whole) : whole;
    if (!this.#holdsTokens) return text;
    const shown = hideTokens(text);
    if (shown === undefined) this.#isTruncated = true;
    return shown;
  }
}

const toText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const notStored = (): StatusError =>
  new StatusError('InternalError', 'Internal error occurred: failed to store audit event');

const tooManyEvents = (): StatusError =>
  new StatusError('TooManyRequests', 'too many audit events wait to be written, please try again later', {
    retryAfterSeconds: 1,
  });

/** After the response only the time of recording matters, not its outcome. */
const toVoid = (recorded: boolean | Promise<boolean>): Promise<void> | undefined =>
  typeof recorded === 'boolean' ? undefined : recorded.then(() => {});
