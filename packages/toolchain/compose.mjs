#!/usr/bin/env node
// npm run compose: builds the images and tests docker-compose.yml with them, on the engine of DOCKER_HOST, the engine
// of this machine, or one started for the run. It takes minutes, so `npm test` does not include it. Arguments after `--` go
// to Jest, such as --seed=NUMBER to repeat an order.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { provideBaseImages, provideProfileImages } from './base-images.mjs';
import { forwardSignalsTo, outputOf, step } from './child.mjs';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { reportSkipped, runJest } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main, root } from './project.mjs';
import { buildPackages } from './packages.mjs';
import { describeRevision, version } from './version.mjs';

const targets = {
  server: 'cluster-apiserver',
  setup: 'cluster-apiserver-setup',
  'kms-plugin': 'cluster-apiserver-kms-plugin',
};
const buildMaxMs = 15 * 60_000;
const startMaxMs = 60_000;

await main(async (jestOptions) => {
  const { node, env } = prepare();
  const found = await engine(env);
  if (found.reason) {
    console.log(`skipped      docker-compose.yml: ${found.reason}\n1 skipped (reason above); 0 passed, 0 failed`);
    return 0;
  }
  try {
    const tools = { node, env: { ...found.env, COMPOSE: JSON.stringify(found.compose) } };
    buildPackages(tools);
    const docker = (args, options = {}) => step('docker', args, { env: tools.env, ...options });
    const etcd = await provisionEtcd();
    const programs = { etcd, etcdctl: await provisionEtcdctl(etcd) };
    provideBaseImages(docker, { ...tools, ...programs });
    for (const [target, name] of Object.entries(targets)) build(docker, target, `${name}:${version}`, tools.env);
    const services = provideProfileImages(docker, tools).join(',');
    const testEnv = { ...tools.env, COMPOSE_SERVICES: services };
    const tests = await runJest(
      { node, env: testEnv },
      ['packages/tests/test/deploy/compose\\.cluster'],
      ['--runInBand', ...jestOptions],
    );
    reportSkipped(tests.skipped);
    console.log(`${tests.passed} passed, ${tests.failed} failed`);
    return tests.failed === 0 ? 0 : 1;
  } finally {
    await found.stop();
  }
});

function build(docker, target, image, env) {
  console.log(`Building ${image} …`);
  const registry = outputOf('npm', ['config', 'get', 'registry'], { env })?.trim();
  const mirror = registry ? ['--build-arg', `NPM_REGISTRY=${registry}`] : [];
  const { commit, date } = describeRevision() ?? {};
  const revision = commit ? ['--build-arg', `REVISION=${commit}`, '--build-arg', `BUILD_DATE=${date}`] : [];
  const options = [
    '--file',
    path.join('deploy', 'Dockerfile'),
    '--target',
    target,
    '--tag',
    image,
    ...mirror,
    ...revision,
  ];
  const { ok, output } = docker(['build', ...options, '.'], { timeout: buildMaxMs });
  if (!ok) throw new Failure(`${image} could not be built.\n${output}`);
}

/** Returns the container engine and its compose command, or the reason why there is none. */
async function engine(env) {
  const client = clientFor(env);
  if (!client) return { reason: 'no docker with BuildKit is installed' };
  const compose = composeFor(client);
  if (!compose) return { reason: 'neither docker compose nor docker-compose is installed' };
  const runs = { env: client, compose, stop: async () => {} };
  if (step('docker', ['info'], { env: client }).ok) return runs;
  if (process.getuid?.() !== 0 || !outputOf('dockerd', ['--version']))
    return { reason: 'no container engine is running' };
  return startEngine(runs);
}

/** The first docker on the PATH that can build images. A client without the buildx plugin may come first. */
function clientFor(env) {
  const folders = env.PATH.split(path.delimiter).filter((folder) => fs.existsSync(path.join(folder, 'docker')));
  return folders
    .map((folder) => ({ ...env, PATH: `${folder}${path.delimiter}${env.PATH}`, DOCKER_BUILDKIT: '1' }))
    .map((candidate) => ({ ...candidate, PATH: `${path.dirname(process.execPath)}${path.delimiter}${candidate.PATH}` }))
    .find(
      (candidate) =>
        !/buildx component is missing/.test(step('docker', ['build', '--help'], { env: candidate }).output),
    );
}

function composeFor(env) {
  const commands = [['docker', 'compose'], ['docker-compose']];
  return commands.find(([program, ...args]) => step(program, [...args, 'version'], { env }).ok);
}

/** Starts a container engine that keeps all of its files in one folder. */
async function startEngine(runs) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'engine-'));
  const at = (name) => path.join(folder, name);
  const address = `unix://${at('docker.sock')}`;
  const args = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid'), '--host', address];
  const log = fs.openSync(at('log'), 'w');
  const child = spawn('dockerd', args, { cwd: root, stdio: ['ignore', log, log] });
  const ended = once(child, 'exit');
  // Stop the engine on a signal; work in progress then fails.
  const release = forwardSignalsTo(child);
  const env = { ...runs.env, DOCKER_HOST: address };
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    release();
    fs.rmSync(folder, { recursive: true, force: true });
  };
  const endMs = performance.now() + startMaxMs;
  while (!step('docker', ['info'], { env }).ok) {
    if (child.exitCode === null && performance.now() < endMs) continue;
    const reason = `dockerd did not start: ${fs.readFileSync(at('log'), 'utf8').trim().split('\n').at(-1)}`;
    await stop();
    return { reason };
  }
  return { ...runs, env, stop };
}
