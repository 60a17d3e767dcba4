import type { Call, LatencyTracker } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { AuditRecorder } from './audit.ts';
import type { ApiRequest } from './exchange.ts';
import type { RequestInfo } from './request-info.ts';
import type { RequestTrace } from './request-trace.ts';

/**
 * What is known of a request after each stage. A stage adds its fact to the same object and hands it on, so the types
 * keep the order of the stages: one that needs the user cannot stand before the one that finds out who it is.
 */
export interface ReceivedContext {
  readonly request: ApiRequest;
  readonly latency: LatencyTracker;
  /** Undefined where the request is not recorded. */
  readonly trace?: RequestTrace;
}
export interface AuditIdContext extends ReceivedContext {
  readonly auditId: string;
}
export interface DeadlineContext extends AuditIdContext {
  readonly call: Call;
}
export interface RequestInfoContext extends DeadlineContext {
  readonly info: RequestInfo;
  /** What the client is told besides the answer, each once. */
  readonly warnings: Set<string>;
  /** Where decisions about the request are noted down; undefined where nobody records it. */
  readonly audit?: AuditRecorder;
}
export interface AuthenticatedContext extends RequestInfoContext {
  /** Whom the request acts for; everything behind authentication asks about him alone. */
  readonly user: UserInfo;
  /** Who sent it, where that is somebody else. */
  readonly impersonator?: UserInfo;
  /** What a write holds while it is worked on; undefined where their number is not limited. */
  readonly seat?: Seat;
}

/** One of the requests that are worked on at a time. */
export interface Seat {
  /** Until `retake` this request only waits for its client, and another one may be worked on in its place. */
  release(): void;
  /** Throws the end of the request if all seats have been taken meanwhile. */
  reacquire(): void;
}
