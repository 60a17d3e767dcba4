import path from 'node:path';
import { provideBaseImages } from './base-images.mjs';
import { outputOf, step } from './child.mjs';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { buildPackages } from './packages.mjs';
import { Failure } from './project.mjs';
import { describeRevision, version } from './version.mjs';

const targets = {
  server: 'cluster-apiserver',
  setup: 'cluster-apiserver-setup',
  start: 'cluster-apiserver-start',
  'kms-plugin': 'cluster-apiserver-kms-plugin',
};
const buildMaxMs = 15 * 60_000;

/**
 * Builds the images of docker-compose.yml, and the images that they need: without a registry, from Debian packages. Each is tagged with
 * the version, and with version and commit.
 */
export async function buildImages(tools) {
  buildPackages(tools);
  const docker = (args, options = {}) => step('docker', args, { env: tools.env, ...options });
  const etcd = await provisionEtcd();
  provideBaseImages(docker, { ...tools, etcd, etcdctl: await provisionEtcdctl(etcd) });
  const { commit, date, imageTag } = describeRevision() ?? {};
  for (const [target, name] of Object.entries(targets)) {
    const images = [version, ...(imageTag ? [imageTag] : [])].map((tag) => `${name}:${tag}`);
    console.log(`Building ${images.join(' ')} …`);
    const registry = outputOf('npm', ['config', 'get', 'registry'], { env: tools.env })?.trim();
    const built = docker(
      [
        ...['build', '--file', path.join('deploy', 'Dockerfile'), '--target', target],
        ...images.flatMap((image) => ['--tag', image]),
        ...(registry ? ['--build-arg', `NPM_REGISTRY=${registry}`] : []),
        ...(commit ? ['--build-arg', `REVISION=${commit}`, '--build-arg', `BUILD_DATE=${date}`] : []),
        '.',
      ],
      { timeout: buildMaxMs },
    );
    if (!built.ok) throw new Failure(`${images[0]} could not be built.\n${built.output}`);
  }
  return docker;
}
