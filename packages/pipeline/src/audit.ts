import type { Status, StatusError, UserInfo } from '@cluster-apiserver/model';
import type { ApiRequest } from './exchange.ts';
import type { RequestInfo } from './request-info.ts';

/** Creates the audit records of requests. Without an auditor the audit stage is absent. */
export interface Auditor {
  /**
   * Called before authentication. `name` is the object's name from the path, or the one that the field selector of a
   * list or watch requires.
   */
  begin(request: AuditedRequest, name: string | undefined): AuditRecorder;
}

export interface AuditedRequest {
  readonly auditId: string;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
}

/** A promise if the request must wait until the event has been written. */
export type PendingWrite = Promise<void> | undefined;

/** The audit events of one request. No method throws, and only the promises of `logRequestReceived` and `logFailure` reject. */
export interface AuditRecorder {
  /** Rejects with a StatusError if the request must not proceed unrecorded. */
  logRequestReceived(user: UserInfo): PendingWrite;
  /** `constraint` is the constrained impersonation verb that allowed it, if it was one. */
  logImpersonatedUser(user: UserInfo, constraint: string | undefined): void;
  /** Annotations of authorizers, admission and handlers. An existing key keeps its value. */
  annotate(key: string, value: string): void;
  /** The decoded object or options of the request, and the size of the body. */
  logRequestObject(object: object, bodyBytes: number): void;
  /** A patch as it was sent, after it was parsed successfully. */
  logRequestPatch(json: Buffer): void;
  /** Whether the audit policy records response objects; otherwise callers need not build them. */
  readonly wantsResponseObject: boolean;
  /** The parts of the response object's JSON, and its approximate length. */
  logResponseObject(texts: Iterable<string | undefined>, characters: number): void;
  logResponseStatus(status: Status): void;
  /** `sentLater` is a response whose body is generated while it is sent. */
  logResponse(code: number, sentLater: boolean): PendingWrite;
  /** `isInternal` is an error that was not meant as a response. Rejects with a StatusError to respond with instead. */
  logFailure(error: StatusError, isInternal: boolean): PendingWrite;
}
