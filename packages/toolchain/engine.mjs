import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { forwardSignalsTo, outputOf, step } from './child.mjs';
import { root } from './project.mjs';

const startMaxMs = 60_000;

/**
 * Returns the container engine of DOCKER_HOST or of this machine with its compose command, or the reason why there is none. One that is
 * started for the run keeps its images only until it stops.
 */
export async function findEngine(env, { mayStart }) {
  const client = clientFor(env);
  if (!client) return { reason: 'no docker with BuildKit is installed' };
  const compose = composeFor(client);
  if (!compose) return { reason: 'neither docker compose nor docker-compose is installed' };
  const runs = { env: client, compose, stop: async () => {} };
  if (step('docker', ['info'], { env: client }).ok) return runs;
  if (!mayStart || process.getuid?.() !== 0 || !outputOf('dockerd', ['--version']))
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
