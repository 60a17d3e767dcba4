/** The command `cluster-apiserver` as documents use it. */
import fs from 'node:fs';
import path from 'node:path';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { builtLauncher } from '@cluster-apiserver/testkit/built-launcher';
import { kubeconfig } from './kubeconfig.ts';

/** Commands run as they are. A server goes on in the background, once it is ready. */
const script = (program: string): string => `#!/bin/bash
case "$1" in --* | '') ;; *) exec '${process.execPath}' '${program}' "$@" ;; esac
'${process.execPath}' '${program}' "$@" $SERVER_FLAGS >server.log 2>&1 &
until curl --silent --insecure --fail --output /dev/null "$SERVER/readyz"; do
  kill -0 $! || { cat server.log; exit 1; }
  sleep 0.05
done
`;

/** Of the servers that documents start. */
export const documentedToken = 'documented';

/**
 * Puts programs into the directory and onto the PATH. A server gets the flags that documents leave out: an address, and
 * data of its own in the etcd.
 */
export async function installProgram(
  directory: string,
  etcd: string,
  programs: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, string>> & { readonly SERVER: string }> {
  const bin = path.join(directory, 'bin');
  fs.mkdirSync(bin);
  const program = path.join(path.dirname(builtLauncher), 'cluster-apiserver.js');
  fs.writeFileSync(path.join(bin, 'cluster-apiserver'), script(program), { mode: 0o755 });
  for (const [name, file] of Object.entries(programs)) fs.symlinkSync(file, path.join(bin, name));
  fs.writeFileSync(path.join(directory, 'tokens.csv'), `${documentedToken},admin,1,system:masters\n`);
  const [port = 0] = await freePorts(1);
  const server = `https://127.0.0.1:${port}`;
  // Without a user, so that commands say who they are.
  fs.writeFileSync(path.join(directory, 'kubeconfig'), kubeconfig({ server, 'insecure-skip-tls-verify': true }));
  return {
    PATH: `${bin}:${process.env.PATH}`,
    KUBECONFIG: path.join(directory, 'kubeconfig'),
    SERVER: server,
    TOKEN: documentedToken,
    SERVER_FLAGS: [
      `--etcd-servers=${etcd}`,
      `--etcd-prefix=/${path.basename(directory)}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--cert-dir=.',
      '--token-auth-file=tokens.csv',
    ].join(' '),
  };
}
