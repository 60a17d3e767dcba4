import type { VersionInfo } from '@cluster-apiserver/pipeline';
import type { Runtime } from './environment.ts';

/** The version of this server; see CHANGELOG.md. */
export const version = '0.1.0';

/** The version of Kubernetes whose API is served. Clients choose API features by it. */
const kubernetesVersion = { major: '1', minor: '36', patch: '2' };

/** The content of `/version`. Clients parse gitVersion and ignore what follows the plus sign. */
export const getVersionInfo = ({ version: ofNode, platform, arch }: Runtime): VersionInfo => ({
  major: kubernetesVersion.major,
  minor: kubernetesVersion.minor,
  gitVersion: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.${kubernetesVersion.patch}+platform.${version}`,
  // The build does not record the commit.
  gitCommit: 'unknown',
  gitTreeState: 'unknown',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${ofNode.replace(/^v/, '')}`,
  compiler: 'v8',
  platform: `${platform}/${arch === 'x64' ? 'amd64' : arch}`,
});
