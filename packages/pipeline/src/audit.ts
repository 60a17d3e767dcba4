import type { Status, StatusError, UserInfo } from '@cluster-apiserver/model';
import type { RequestInfoContext } from './request-context.ts';

/** Who records requests. A server without one does nothing for it. */
export interface Auditor {
  /**
   * Called once the target of a request is understood, before anybody is authenticated. `name` is that of the object:
   * of the path, or the one that the field selector of a collection requires.
   */
  begin(context: RequestInfoContext, name: string | undefined): AuditRecorder;
}

/** A promise where the request has to wait until an event is recorded. */
export type PendingWrite = Promise<void> | undefined;

/** The audit events of one request. Nothing here throws, and only `received` rejects. */
export interface AuditRecorder {
  /** Who sends the request. Rejects with a StatusError if the request may not go on unrecorded. */
  logRequestReceived(user: UserInfo): PendingWrite;
  /** Whom it acts for if that is somebody else, and the constrained verb that allowed it, if it was one. */
  logImpersonatedUser(user: UserInfo, constraint: string | undefined): void;
  /** Authorizers, admission and handlers explain their decisions. A key that is there already keeps its value. */
  annotate(key: string, value: string): void;
  /** The object or the options that the client sends, decoded from a body of so many bytes. */
  logRequestObject(object: object, bodyBytes: number): void;
  /** A patch as it was sent, once it was found to be JSON. */
  logRequestPatch(json: Buffer): void;
  /** Whether the object of the response is recorded: otherwise nobody should make it. */
  readonly wantsResponseObject: boolean;
  /** JSON texts that together are the object of the response, and about how many characters they have. */
  logResponseObject(texts: Iterable<string | undefined>, characters: number): void;
  /** The response is this Status. */
  logResponseStatus(status: Status): void;
  /** The response is ready to be sent; `sentLater` is one that is made while it is sent. */
  logResponse(code: number, sentLater: boolean): PendingWrite;
  /** The request ends with an error; `isInternal` is one that was not meant as a response. */
  logFailure(error: StatusError, isInternal: boolean): PendingWrite;
}
