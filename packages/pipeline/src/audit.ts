import type { UserInfo } from '@cluster-apiserver/model';
import type { ApiResponse } from './exchange.ts';
import type { Understood } from './facts.ts';

/** Who records requests. Nobody does yet: a server without one does nothing for it. */
export interface Auditor {
  /** Called once the target of a request is understood, before anybody is authenticated; undefined to skip it. */
  begin(facts: Understood): AuditRecorder | undefined;
}

/** The audit event of one request. Nothing here throws or waits. */
export interface AuditRecorder {
  /** Whom the request comes from. */
  user(user: UserInfo): void;
  /** Whom it acts for if that is somebody else, and the constrained verb that allowed it, if it was one. */
  impersonatedUser(user: UserInfo, constraint: string | undefined): void;
  /** Authorizers, admission and handlers explain their decisions. A key that is there already keeps its value. */
  annotate(key: string, value: string): void;
  /** The response is about to be sent; `onEnd` of the request says when it was. Also called for what is refused. */
  responded(response: Pick<ApiResponse, 'status'>, error: unknown): void;
}
