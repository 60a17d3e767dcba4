import type { Call, LatencyTracker } from '@cluster-apiserver/base';
import type { Flow, FlowSeats } from '@cluster-apiserver/gates';
import type { UserInfo } from '@cluster-apiserver/model';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { AuditRecorder } from './audit.ts';
import type { ApiRequest } from './exchange.ts';
import type { RequestInfo } from './request-info.ts';
import type { RequestTrace } from './request-trace.ts';
import type { WatchEnd } from './watch-end.ts';

/**
 * The context of a request, one type per stage. A stage adds its fields to the same object and passes it on, so the
 * types enforce the order of stages: a stage that requires the user cannot run before authentication.
 */
export interface ReceivedContext {
  readonly request: ApiRequest;
  readonly latency: LatencyTracker;
  /** Undefined if the request is not sampled. */
  readonly trace?: RequestTrace | undefined;
  /** What it is a part of; undefined where requests are not limited, and before. */
  flow?: Flow | undefined;
}
export interface RequestInfoContext extends ReceivedContext {
  readonly auditId: string;
  readonly info: RequestInfo;
  /** The kind in the version that the path names, as it is served when the request arrives. */
  readonly served?: ServedKind | undefined;
  /** Texts of Warning headers, each once. `addWarning` adds to them. */
  warnings: ReadonlySet<string>;
  /** Undefined if the request is not audited. */
  readonly audit?: AuditRecorder | undefined;
}
export interface DeadlineContext extends RequestInfoContext {
  readonly call: Call;
}
export interface AuthenticatedContext extends DeadlineContext {
  /** The effective user: after impersonation, the impersonated one. */
  readonly user: UserInfo;
  /** The authenticated user if the request impersonates another one. */
  readonly impersonator?: UserInfo | undefined;
  /** Held by a request in flight; undefined where their number is not limited. */
  readonly seat?: FlowSeats | undefined;
  /** Set when a watch that has begun ends. */
  watchEnd?: WatchEnd | undefined;
}

/** The object behind all of these types. It has all fields from the beginning, so V8 gives all requests one hidden class. */
export class RequestContext implements ReceivedContext {
  readonly request: ApiRequest;
  readonly latency: LatencyTracker;
  readonly trace: RequestTrace | undefined = undefined;
  readonly auditId: string | undefined = undefined;
  readonly info: RequestInfo | undefined = undefined;
  readonly served: ServedKind | undefined = undefined;
  warnings: ReadonlySet<string> | undefined = undefined;
  readonly audit: AuditRecorder | undefined = undefined;
  readonly call: Call | undefined = undefined;
  readonly user: UserInfo | undefined = undefined;
  readonly impersonator: UserInfo | undefined = undefined;
  readonly seat: FlowSeats | undefined = undefined;
  flow: Flow | undefined = undefined;
  watchEnd: WatchEnd | undefined = undefined;

  constructor(request: ApiRequest, latency: LatencyTracker) {
    this.request = request;
    this.latency = latency;
  }
}

/** Most requests have no warnings, and share this. */
export const noWarnings: ReadonlySet<string> = new Set();

export function addWarning(context: Pick<RequestInfoContext, 'warnings'>, text: string): void {
  const { warnings } = context;
  if (warnings instanceof Set && warnings !== noWarnings) warnings.add(text);
  else context.warnings = new Set([text]);
}
