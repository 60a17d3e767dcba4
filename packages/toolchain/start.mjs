#!/usr/bin/env node
// npm start: starts a local cluster from a fresh clone. Arguments after `--` go to the launcher, see `npm start --
// --help`.
import { run } from './child.mjs';
import { buildLauncher } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';

await main(async (args) => {
  const tools = prepare();
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const bringsEtcd = own.some((argument) => /^--(etcd-servers|help)\b/.test(argument));
  const etcd = bringsEtcd ? {} : { ETCD_BIN: await provisionEtcd() };
  // The launcher exits when the IPC channel closes, even if this process could not forward a signal.
  return run(tools.node, [buildLauncher(tools), ...args], {
    env: { ...tools.env, ...etcd },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
});
