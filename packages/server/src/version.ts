import { isJsonObject } from '@cluster-apiserver/model/json';
import type { VersionInfo } from '@cluster-apiserver/pipeline';
import type { Build, Runtime } from './environment.ts';

/** The version of this server; see CHANGELOG.md. */
export const version = '1.0.0-rc.4';

/** The version of Kubernetes whose API is served. Clients choose API features by it. */
const kubernetesVersion = { major: '1', minor: '36', patch: '2' };

/** The content of `/version`. Clients parse gitVersion and ignore what follows the plus sign. */
export const getVersionInfo = ({ version: ofNode, platform, arch, build }: Runtime): VersionInfo => ({
  major: kubernetesVersion.major,
  minor: kubernetesVersion.minor,
  gitVersion: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.${kubernetesVersion.patch}+platform.${version}`,
  gitCommit: build?.commit ?? 'unknown',
  gitTreeState: build?.treeState ?? 'unknown',
  buildDate: build?.date ?? '1970-01-01T00:00:00Z',
  goVersion: `node${ofNode.replace(/^v/, '')}`,
  compiler: 'v8',
  platform: `${platform}/${arch === 'x64' ? 'amd64' : arch}`,
});

/** What `--version` prints. */
export const describeVersion = ({ build }: Pick<Runtime, 'build'>): string =>
  `cluster-apiserver ${version}${build ? ` (commit ${build.commit}, ${build.date})` : ''}`;

/** Reads the file that a build leaves beside the program. Undefined if it has another form. */
export function parseBuild(text: string): Build | undefined {
  const stamp: unknown = JSON.parse(text);
  if (!isJsonObject(stamp)) return undefined;
  const { commit, treeState = 'unknown', date } = stamp;
  return typeof commit === 'string' && typeof treeState === 'string' && typeof date === 'string'
    ? { commit, treeState, date }
    : undefined;
}
