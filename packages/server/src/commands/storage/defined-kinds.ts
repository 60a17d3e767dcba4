/** The kinds of stored CustomResourceDefinitions, as far as it matters for encryption and for the version of their objects. */
import { callUntil, type Clock, runSync } from '@cluster-apiserver/base';
import { customKind } from '@cluster-apiserver/custom-resources';
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

/**
 * Only a kind whose names are accepted, and whose objects need no webhook, can convert them. The objects of others are not
 * looked into.
 */
function kindOf(definition: CustomResourceDefinition): Kind {
  const { group, names, versions, conversion } = definition.spec;
  if (definition.status.acceptedNames.plural !== '' && conversion?.strategy !== 'Webhook')
    return runSync(customKind(definition));
  return Object.assign(
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
}
