import type { Status, StatusError, UserInfo } from '@cluster-apiserver/model';
import type { Understood } from './facts.ts';

/** Who records requests. A server without one does nothing for it. */
export interface Auditor {
  /**
   * Called once the target of a request is understood, before anybody is authenticated. `name` is that of the object:
   * of the path, or the one that the field selector of a collection requires.
   */
  begin(facts: Understood, name: string | undefined): AuditRecorder;
}

/** A promise where the request has to wait until an event is recorded. */
export type Recorded = Promise<void> | undefined;

/** The audit events of one request. Nothing here throws, and only `received` rejects. */
export interface AuditRecorder {
  /** Who sends the request. Rejects with a StatusError if the request may not go on unrecorded. */
  received(user: UserInfo): Recorded;
  /** Whom it acts for if that is somebody else, and the constrained verb that allowed it, if it was one. */
  impersonatedUser(user: UserInfo, constraint: string | undefined): void;
  /** Authorizers, admission and handlers explain their decisions. A key that is there already keeps its value. */
  annotate(key: string, value: string): void;
  /** The object or the options that the client sends, decoded from a body of so many bytes. */
  requestObject(object: object, bodyBytes: number): void;
  /** A patch as it was sent, once it was found to be JSON. */
  requestPatch(json: Buffer): void;
  /** Whether the object of the response is recorded: otherwise nobody should make it. */
  readonly wantsResponseObject: boolean;
  /** JSON texts that together are the object of the response, and about how many characters they have. */
  responseObject(texts: Iterable<string | undefined>, characters: number): void;
  /** The response is this Status. */
  responseStatus(status: Status): void;
  /** The response is ready to be sent; `sentLater` is one that is made while it is sent. */
  responded(code: number, sentLater: boolean): Recorded;
  /** The request ends with an error; `isInternal` is one that was not meant as a response. */
  failed(error: StatusError, isInternal: boolean): Recorded;
}
