import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { provideBaseImages } from './base-images.mjs';
import { outputOf, step } from './child.mjs';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { buildPackages } from './packages.mjs';
import { Failure } from './project.mjs';
import { unpackRevision } from './revision.mjs';
import { describeRevision, version } from './version.mjs';

const targets = {
  server: 'cluster-apiserver',
  setup: 'cluster-apiserver-setup',
  start: 'cluster-apiserver-start',
  'kms-plugin': 'cluster-apiserver-kms-plugin',
};
const buildMaxMs = 15 * 60_000;

/** The image of the server of an earlier revision, which a cluster is upgraded from. */
export const earlierImage = 'cluster-apiserver:earlier';

function buildOptions(target, images) {
  const registry = outputOf('npm', ['config', 'get', 'registry'])?.trim();
  return [
    ...['build', '--file', path.join('deploy', 'Dockerfile'), '--target', target],
    ...images.flatMap((image) => ['--tag', image]),
    ...(registry ? ['--build-arg', `NPM_REGISTRY=${registry}`] : []),
  ];
}

/** From the sources of the revision alone. */
function buildEarlierImage(docker, revision) {
  console.log(`Building ${earlierImage} of ${revision} …`);
  const sources = fs.mkdtempSync(path.join(os.tmpdir(), 'earlier-'));
  try {
    unpackRevision(revision, sources);
    const built = docker([...buildOptions('server', [earlierImage]), '.'], { cwd: sources, timeout: buildMaxMs });
    if (!built.ok) throw new Failure(`${earlierImage} could not be built.\n${built.output}`);
  } finally {
    fs.rmSync(sources, { recursive: true, force: true });
  }
}

/**
 * Builds the images of docker-compose.yml, and the images that they need: without a registry, from Debian packages. Each is tagged with
 * the version, and with version and commit. With `from`, the server of that revision is built, too.
 * @param {{ node: string, env: NodeJS.ProcessEnv }} tools
 * @param {{ from?: string }} [options]
 */
export async function buildImages(tools, { from } = {}) {
  buildPackages(tools);
  const docker = (args, options = {}) => step('docker', args, { env: tools.env, ...options });
  const etcd = await provisionEtcd();
  provideBaseImages(docker, { ...tools, etcd, etcdctl: await provisionEtcdctl(etcd) });
  if (from) buildEarlierImage(docker, from);
  const { commit, date, imageTag } = describeRevision() ?? {};
  for (const [target, name] of Object.entries(targets)) {
    const images = [version, ...(imageTag ? [imageTag] : [])].map((tag) => `${name}:${tag}`);
    console.log(`Building ${images.join(' ')} …`);
    const built = docker(
      [
        ...buildOptions(target, images),
        ...(commit ? ['--build-arg', `REVISION=${commit}`, '--build-arg', `BUILD_DATE=${date}`] : []),
        '.',
      ],
      { timeout: buildMaxMs },
    );
    if (!built.ok) throw new Failure(`${images[0]} could not be built.\n${built.output}`);
  }
  return docker;
}
