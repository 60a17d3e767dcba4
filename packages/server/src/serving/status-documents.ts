import type { Clock, Random } from '@cluster-apiserver/base';
import { type NonResourceRoutes, rootRoutes, type VersionInfo, zpageRoutes } from '@cluster-apiserver/pipeline';
import type { ServerFlags } from '../flags/flags.ts';
import { formatFlags } from '../flags/format-flags.ts';

/** `/statusz`, `/flagz`, and `/` with the paths of all documents. */
export const createStatusDocuments = ({ flags, ...about }: StatusOptions): NonResourceRoutes => ({
  ...zpageRoutes({ ...about, component: 'cluster-apiserver', flags: formatFlags(flags) }),
  ...rootRoutes,
});

interface StatusOptions {
  readonly flags: ServerFlags;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
}
