import { fileOf } from '../files/flag-files.ts';
import { certificateFilesOf } from '../files/pem-files.ts';
import { type FlagValues, isGiven } from '../flags/flag.ts';
import type { etcdFlags } from './etcd-flags.ts';
import { etcdsOf } from './etcd-overrides.ts';

export type StorageSettings = ReturnType<typeof storageSettingsOf>;

const encryptionFlag = 'encryption-provider-config';

export function storageSettingsOf(values: FlagValues<typeof etcdFlags>, problems: string[]) {
  const keyPrefix = values['etcd-prefix'].replace(/\/+$/, '');
  const encryptionFile = fileOf(values, encryptionFlag);
  const reloads = values[`${encryptionFlag}-automatic-reload`];
  // A variable that a script forgot to set must not store everything in clear.
  if (!encryptionFile && isGiven(values, encryptionFlag))
    problems.push(`--${encryptionFlag}: the path is empty; leave out the flag to store everything unencrypted`);
  else if (!encryptionFile && reloads) problems.push(`--${encryptionFlag}-automatic-reload: needs --${encryptionFlag}`);
  return {
    /** The first one holds the kinds that none of the others does. */
    etcds: etcdsOf(values, problems),
    /** Of the keys of all kinds, such as /registry. */
    keyPrefix,
    /** Of the keys of the servers themselves. They share the prefix so that one watch also sees them. */
    ownPrefix: `${keyPrefix}/.own/`,
    caFile: fileOf(values, 'etcd-cafile'),
    clientCertificate: certificateFilesOf(values, ['etcd-certfile', 'etcd-keyfile'], problems),
    electionTimeoutMs: values['etcd-election-timeout'],
    /** 0 if this server requests no compaction. */
    compactionIntervalMs: values['etcd-compaction-interval'],
    /** Undefined to store everything in clear. */
    encryption: encryptionFile && { file: encryptionFile, reloads },
    eventLifetimeSeconds: Math.ceil(values['event-ttl'] / 1000),
  };
}
