import type { Clock, Random } from '@cluster-apiserver/base';
import {
  type NonResourceRoutes,
  type ReplicaStatus,
  rootRoutes,
  type VersionInfo,
  zpageRoutes,
} from '@cluster-apiserver/pipeline';

/** `/statusz`, `/flagz`, and `/` with the paths of all documents. */
export const createStatusDocuments = (about: StatusOptions): NonResourceRoutes => ({
  ...zpageRoutes({ ...about, component: 'cluster-apiserver' }),
  ...rootRoutes,
});

interface StatusOptions {
  /** All flags in command-line syntax. */
  readonly flags: Readonly<Record<string, string>>;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
  readonly replicas: (() => readonly ReplicaStatus[]) | undefined;
}
