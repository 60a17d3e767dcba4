import type { Clock, Random } from '@cluster-apiserver/base';
import { type NonResourceRoutes, rootRoutes, type VersionInfo, zpageRoutes } from '@cluster-apiserver/pipeline';
import type { ServerFlags } from '../flags.ts';
import { flagTexts } from './flag-texts.ts';

/** What tells operators about this server: `/statusz`, `/flagz`, and `/` with the paths of all documents. */
export const statusDocuments = ({ flags, ...about }: StatusOptions): NonResourceRoutes => ({
  ...zpageRoutes({ ...about, component: 'cluster-apiserver', flags: flagTexts(flags) }),
  ...rootRoutes,
});

interface StatusOptions {
  readonly flags: ServerFlags;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
}
