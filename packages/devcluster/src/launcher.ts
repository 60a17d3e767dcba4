import type { Platform } from './etcd-program.ts';
import type { SupervisorContext } from './supervise.ts';

/** The environment of the launcher process. */
export interface Launcher extends SupervisorContext {
  readonly pid: number;
  readonly node: string;
  readonly platform: Platform;
  readonly env: NodeJS.ProcessEnv;
  /** Aborts to stop the cluster, possibly before it has started. */
  readonly signal: AbortSignal;
}
