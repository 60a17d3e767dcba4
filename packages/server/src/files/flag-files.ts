import { errorMessage } from '@cluster-apiserver/base';
import { ConfigurationError } from '@cluster-apiserver/config';
import { FlagError } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';

type FileFlag =
  | 'token-auth-file'
  | 'client-ca-file'
  | 'authentication-token-webhook-config-file'
  | 'authorization-webhook-config-file'
  | 'audit-webhook-config-file'
  | 'requestheader-client-ca-file'
  | 'oidc-ca-file'
  | 'egress-selector-config-file'
  | 'admission-control-config-file'
  | 'tracing-config-file'
  | 'etcd-cafile'
  | 'etcd-certfile'
  | 'etcd-keyfile'
  | 'tls-cert-file'
  | 'tls-private-key-file'
  | ConfigurationFlag;

/** Configuration files that are reloaded. */
export type ConfigurationFlag =
  | 'encryption-provider-config'
  | 'authentication-config'
  | 'authorization-config'
  | 'authorization-policy-file'
  | 'audit-policy-file';

/** The content of the file that a flag names; undefined if the flag is not set. Errors name the flag. */
export async function readFlagFile(name: FileFlag, flags: ServerFlags, files: Files): Promise<Buffer | undefined> {
  const path = flags[name];
  if (path === '') return undefined;
  try {
    return await files.read(path);
  } catch (error) {
    throw new FlagError([`--${name}: cannot read ${path}: ${errorMessage(error)}`]);
  }
}

/** Converts a ConfigurationError to a FlagError that names the flag. */
export async function withFlagErrors<T>(name: FileFlag, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new FlagError(error.faults.map((fault) => `--${name}: ${fault}`));
  }
}

const flagPairs = [
  ['tls-cert-file', 'tls-private-key-file'],
  ['etcd-certfile', 'etcd-keyfile'],
] as const;

/** Throws a FlagError for a certificate without its key, or a key without its certificate. */
export function requireFlagPairs(flags: ServerFlags): void {
  const faults = flagPairs
    .filter(([cert, key]) => (flags[cert] === '') !== (flags[key] === ''))
    .map(([cert, key]) => `--${cert} and --${key} go together`);
  if (faults.length > 0) throw new FlagError(faults);
}
