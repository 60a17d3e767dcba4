#!/usr/bin/env node
// npm run dev: a local cluster whose replicas are replaced when a source changes. Arguments follow `--`, as for npm start.
// One in a checkout: all would build into the same folders.
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
/** What the launcher is asked. */
const startNow = 'start now';
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
  const home = path.resolve(root, valueOf('--data-dir', args) ?? '.cluster');
  if (await Promise.race([once(child, 'message'), ended]))
    await follow(
      ended,
      replacer(home, tools, () => child.connected && child.send(startNow)),
    );
  await ended;
  release();
  return wasInterrupted() ? 0 : (child.exitCode ?? 1);
});

/** Handles each change until the cluster has ended. What fails may work after the next change. */
async function follow(ended, handle) {
  let next = nextChange({ persistent: false });
  for (let change = await Promise.race([next, ended]); change; change = await Promise.race([next, ended])) {
    next = nextChange({ persistent: false }); // what changes while this one is handled counts, too
    try {
      await handle(change, Promise.race([next, ended]));
    } catch (error) {
      console.log(error instanceof Failure ? error.message : error.stack);
    }
  }
}

function valueOf(option, args) {
  const at = args.findIndex((argument) => argument.split('=')[0] === option);
  return at < 0 ? undefined : (args[at].split('=')[1] ?? args[at + 1]);
}

/**
 * Builds, and ends the replicas one after the other: the launcher starts each again, with what was built. The next change, or the
 * end of the cluster, ends a wait; then all of them are replaced after that change.
 */
function replacer(home, tools, start) {
  let areOutdated = false;
  return async (change, next) => {
    const beganMs = performance.now();
    areOutdated = buildPackages(tools) || areOutdated;
    if (!areOutdated) return; // a test
    for (const [i, { pid }] of replicasOf(home).entries()) {
      const isReplaced = () => {
        const replica = replicasOf(home)[i];
        if (replica?.pid === pid) start(); // the launcher pauses before it starts one that has ended
        return replica && replica.pid !== pid && isReady(home, replica.url);
      };
      endProcess(pid);
      const wasReplaced = await Promise.race([until(isReplaced), next.then(() => undefined)]);
      if (wasReplaced === undefined) return;
      if (!wasReplaced) throw new Failure(`${change}: a replica does not become ready. ${lastErrorOf(home, i)}`);
    }
    areOutdated = false;
    console.log(`${change}: the replicas run it after ${((performance.now() - beganMs) / 1000).toFixed(1)} s.`);
  };
}

/** A replica that could not start is started again without this. */
function endProcess(pid) {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function lastErrorOf(home, replica) {
  const log = path.join(home, 'logs', `replica-${replica + 1}.log`);
  const lines = fs.readFileSync(log, 'utf8').split('\n');
  return `Its log, ${path.relative(root, log)}, has: ${lines.findLast((line) => /error/i.test(line)) ?? lines.at(-2)}`;
}

/** None while the cluster stops. */
function replicasOf(home) {
  const file = path.join(home, 'pids.json');
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')).replicas : [];
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

/** Whether the condition holds in time. */
async function until(condition) {
  const endMs = performance.now() + startMaxMs;
  while (!(await condition())) {
    if (performance.now() > endMs) return false;
    await new Promise((resolve) => void setTimeout(resolve, pollMs));
  }
  return true;
}
