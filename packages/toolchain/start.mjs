#!/usr/bin/env node
// npm start: a local cluster from a fresh clone. What follows `--` goes to the launcher, see `npm start -- --help`.
import { run } from './child.mjs';
import { launcher } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';

await main(async (args) => {
  const { node, env } = prepare();
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const bringsEtcd = own.some((argument) => /^--(etcd-servers|help)\b/.test(argument));
  const etcd = bringsEtcd ? {} : { ETCD_BIN: await provisionEtcd() };
  // The channel lets the launcher notice when we are gone, even when we could not say so.
  return run(node, [...launcher, ...args], {
    env: { ...env, ...etcd },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
});
