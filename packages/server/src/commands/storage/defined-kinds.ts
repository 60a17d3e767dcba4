/** The kinds of stored CustomResourceDefinitions, as far as it matters for encryption: their objects are not looked into. */
import { callUntil, type Clock } from '@cluster-apiserver/base';
import { type CustomResourceDefinition, customResourceDefinition } from '@cluster-apiserver/kinds';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { collectionFormOf, type StoredKinds } from '@cluster-apiserver/registry';
import { itemKey, type Store } from '@cluster-apiserver/storage';

const pageKeys = 100;
const pageTimeoutMs = 30_000;

/** Adds the kinds. The objects of a definition that cannot be read are left alone; a rewrite reports the definition. */
export async function addDefinedKinds(store: Store, storedKinds: StoredKinds, clock: Clock): Promise<void> {
  const { prefix, read } = collectionFormOf({ kind: customResourceDefinition }, storedKinds.keyPrefix);
  let after: string | undefined;
  for (;;) {
    const call = callUntil(clock.monotonicMs() + pageTimeoutMs);
    const { entries, remaining } = await store.list({ prefix, after, limit: pageKeys }, call);
    for (const entry of entries) {
      const item = read(entry, itemKey(entry.key.slice(prefix.length)));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it was decoded by the schema of the kind
      if (!item.unreadable) storedKinds.add(kindOf(item.object as CustomResourceDefinition));
    }
    after = entries.at(-1)?.key;
    if (remaining === 0) return;
  }
}

const kindOf = ({ spec: { group, names, versions } }: CustomResourceDefinition): Kind =>
  Object.assign(
    defineKind({
      group,
      version: versions?.[0]?.name ?? 'v1',
      kind: names.kind,
      plural: names.plural,
      singular: names.singular ?? names.plural,
      description: '',
      fields: {},
      storage: { prefix: `${group}/${names.plural}` },
    }),
    { definition: `${names.plural}.${group}` },
  );
