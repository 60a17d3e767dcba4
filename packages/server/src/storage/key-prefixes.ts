import type { ServerFlags } from '../flags/flags.ts';

export interface KeyPrefixes {
  /** Prefix of the keys of all kinds, such as /registry. */
  readonly keyPrefix: string;
  /** Keys of the servers themselves. They share the prefix so that one watch also sees them. */
  readonly ownPrefix: string;
}

export function getKeyPrefixes(flags: ServerFlags): KeyPrefixes {
  const keyPrefix = flags['etcd-prefix'].replace(/\/+$/, '');
  return { keyPrefix, ownPrefix: `${keyPrefix}/.own/` };
}
