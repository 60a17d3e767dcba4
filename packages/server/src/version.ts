import type { VersionInfo } from '@cluster-apiserver/pipeline';
import type { Runtime } from './environment.ts';

/** The version of this server; the changelog says what each one brought. */
export const version = '0.1.0';

/** The Kubernetes whose answers are ours. Clients decide by it what they may ask for. */
const kubernetesVersion = { major: '1', minor: '36', patch: '2' };

/** What `/version` tells. Clients parse gitVersion, where whatever follows the plus does not count. */
export const getVersionInfo = ({ version: ofNode, platform, arch }: Runtime): VersionInfo => ({
  major: kubernetesVersion.major,
  minor: kubernetesVersion.minor,
  gitVersion: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.${kubernetesVersion.patch}+platform.${version}`,
  // We run from sources as they lie there: no build has marked them.
  gitCommit: 'unknown',
  gitTreeState: 'unknown',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${ofNode.replace(/^v/, '')}`,
  compiler: 'v8',
  platform: `${platform}/${arch === 'x64' ? 'amd64' : arch}`,
});
