#!/usr/bin/env node
// npm run dev: a local cluster whose replicas are replaced when a source changes. Arguments follow `--`, as for npm start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { forwardSignalsTo, wasInterrupted } from './child.mjs';
import { provisionEtcd } from './etcd.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main, root } from './project.mjs';
import { nextChange } from './watch-sources.mjs';

/** No client waits for a load balancer, so a replica that is stopped need not serve on. */
const atOnce = '--shutdown-delay-duration=0s';
const startMaxMs = 60_000;
const pollMs = 50;

await main(async (args) => {
  const tools = prepare();
  buildPackages(tools);
  const program = path.join('packages', 'devcluster', 'dist', 'main.js');
  const flags = args.includes('--') ? [...args, atOnce] : [...args, '--', atOnce];
  const child = spawn(tools.node, [program, ...flags], {
    cwd: root,
    env: { ...tools.env, ETCD_BIN: await provisionEtcd() },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const release = forwardSignalsTo(child);
  const ended = once(child, 'exit').then(() => undefined);
  const home = path.join(root, valueOf('--data-dir', args) ?? '.cluster');
  if (await Promise.race([once(child, 'message'), ended]))
    await follow(ended, (change) => replace(change, home, tools));
  await ended;
  release();
  return wasInterrupted() ? 0 : (child.exitCode ?? 1);
});

/** Handles each change until the cluster has ended. */
async function follow(ended, handle) {
  let next = nextChange({ persistent: false });
  for (let change = await Promise.race([next, ended]); change; change = await Promise.race([next, ended])) {
    next = nextChange({ persistent: false }); // what changes while this one is handled counts, too
    await handle(change);
  }
}

function valueOf(option, args) {
  const at = args.findIndex((argument) => argument.split('=')[0] === option);
  return at < 0 ? undefined : (args[at].split('=')[1] ?? args[at + 1]);
}

/** Builds, and ends the replicas one after the other: the launcher starts each again, with what was built. */
async function replace(change, home, tools) {
  const beganMs = performance.now();
  try {
    buildPackages(tools);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.log(error.message);
    return;
  }
  for (const [i, { pid }] of replicasOf(home).entries()) {
    process.kill(pid, 'SIGTERM');
    await until(() => replicasOf(home)[i]?.pid !== pid && isReady(home, replicasOf(home)[i]?.url));
  }
  console.log(`${change}: the replicas run it after ${((performance.now() - beganMs) / 1000).toFixed(1)} s.`);
}

function replicasOf(home) {
  return JSON.parse(fs.readFileSync(path.join(home, 'pids.json'), 'utf8')).replicas;
}

function isReady(home, url) {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${fs.readFileSync(path.join(home, 'admin.token'), 'utf8')}` };
    const ca = fs.readFileSync(path.join(home, 'ca.crt'));
    const request = https.get(`${url}/readyz`, { agent: false, ca, headers });
    request.on('response', (response) => resolve(response.resume().statusCode === 200));
    request.on('error', () => resolve(false));
  });
}

async function until(condition) {
  const endMs = performance.now() + startMaxMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Failure('A replica did not become ready; its log is in .cluster/logs.');
    await new Promise((resolve) => void setTimeout(resolve, pollMs));
  }
}
