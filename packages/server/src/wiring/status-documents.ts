import type { Clock, Random } from '@cluster-apiserver/base';
import { type Documents, rootDocuments, type VersionInfo, zpages } from '@cluster-apiserver/pipeline';
import type { ServerFlags } from '../flags.ts';
import { formatFlags } from './format-flags.ts';

/** `/statusz`, `/flagz`, and `/` with the paths of all documents. */
export const createStatusDocuments = ({ flags, ...about }: StatusOptions): Documents => ({
  ...zpages({ ...about, component: 'cluster-apiserver', flags: formatFlags(flags) }),
  ...rootDocuments,
});

interface StatusOptions {
  readonly flags: ServerFlags;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
}
