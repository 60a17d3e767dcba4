/** Reads etcd's log as the judge of a history needs it: decrypted with the keys of the cluster by the server's own code. */
import { loadEncryptionConfiguration, providersFor } from '@cluster-apiserver/config';
import { aesGcm, prefixTransformer } from '@cluster-apiserver/storage';
import { systemRandom } from '@cluster-apiserver/base';
import type { Cluster } from '@cluster-apiserver/testkit/cluster';
import { type Change, readChanges } from '@cluster-apiserver/testkit/etcd-gateway';
import type { Entry } from './history.ts';
import { isJudged, registry } from './judged-resources.ts';
import { parseState } from './outcomes.ts';

/** All entries of the load's objects. The log must not have been compacted. */
export const readLog = async (url: string, cluster: Pick<Cluster, 'encryption'>): Promise<Entry[]> =>
  parseEntries(await decryptChanges((await readChanges(url, registry)).filter(isOfLoad), cluster));

/** Whether a load made the change. */
export const isOfLoad = ({ key }: Pick<Change, 'key'>): boolean => isJudged(nameOf(key));

/** The name of an object in a history. */
export const nameOf = (key: string): string => key.slice(registry.length);

/** The value is the stored object; undefined for a deletion. */
export type DecryptedChange = Omit<Change, 'value'> & { readonly value: string | undefined };

/** Rejects if a value is not encrypted, was moved to another key, or was changed. */
export function decryptChanges(
  changes: readonly Change[],
  { encryption }: Pick<Cluster, 'encryption'>,
): Promise<DecryptedChange[]> {
  const { fromStorage } = createTransformer(encryption);
  const decrypt = async ({ value, ...change }: Change): Promise<DecryptedChange> => {
    if (value === undefined) return { ...change, value };
    try {
      return { ...change, value: (await fromStorage(value, change.key)).value.toString() };
    } catch (cause) {
      throw new Error(`the value of ${change.key} at ${change.revision} cannot be read`, { cause });
    }
  };
  return Promise.all(changes.map(decrypt));
}

/** Without the provider of unencrypted values, which the configuration of `npm start` contains, too. */
function createTransformer(configuration: Buffer): ReturnType<typeof prefixTransformer> {
  const providers = providersFor(loadEncryptionConfiguration(configuration.toString()), 'serviceaccounts', '') ?? [];
  const [first, ...others] = providers
    .flatMap((provider) => (provider.type === 'aesgcm' ? provider.keys : []))
    .map(({ name, secret }) => ({
      prefix: `k8s:enc:aesgcm:v1:${name}:`,
      transformer: aesGcm({ key: secret, random: systemRandom(), onNonce: () => {} }),
    }));
  if (!first) throw new Error('the cluster does not encrypt service accounts with AES-GCM');
  return prefixTransformer([first, ...others]);
}

/** The log entries of the load's objects. */
export const parseEntries = (changes: readonly DecryptedChange[]): Entry[] =>
  changes.map(({ revision, key, value }) => ({
    revision,
    name: nameOf(key),
    state: value === undefined ? undefined : parseState(value),
  }));
