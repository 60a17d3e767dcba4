#!/usr/bin/env node
// npm start: a local cluster from a fresh clone. What follows `--` goes to the launcher, see `npm start -- --help`.
import { run } from './child.mjs';
import { builtLauncher } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';

await main(async (args) => {
  const tools = prepare();
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const bringsEtcd = own.some((argument) => /^--(etcd-servers|help)\b/.test(argument));
  const etcd = bringsEtcd ? {} : { ETCD_BIN: await provisionEtcd() };
  // The channel lets the launcher notice when we are gone, even when we could not say so.
  return run(tools.node, [builtLauncher(tools), ...args], {
    env: { ...tools.env, ...etcd },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
});
