/**
 * Marks the tokens of Secrets invalid that have not been used for a year, and deletes the Secrets after another one. As in
 * Kubernetes only those that are in the `secrets` of their account: what is not was created by hand. Until the mark is
 * removed the server refuses the token, and a use in vain counts as a use.
 */
import { formatDate, invalidSinceLabel, lastUsedLabel } from '@cluster-apiserver/gates';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import { type Call, itemKey, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject, deleteUnlessChanged } from '../change-object.ts';
import { readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, type ControllerServices, manager } from '../run-controller.ts';
import { visitPeriodically } from '../visit-periodically.ts';
import { accountKeyOf, tokenSecret, uidAnnotation } from './token-secrets.ts';
import { isDate, trackingName } from './token-tracking.ts';

/** As in Kubernetes. */
const dayMs = 86_400_000;
const periodMs = 365 * dayMs;

/** Looks now and every day, until the signal aborts. */
export async function cleanTokens(options: ControllerOptions & ControllerServices): Promise<void> {
  const { api, signal, signSecretToken, clock } = options;
  const secrets = api.byGroupKind('', 'Secret');
  const accounts = api.byGroupKind('', 'ServiceAccount');
  const configMaps = api.byGroupKind('', 'ConfigMap');
  if (!secrets || !accounts || !configMaps || !signSecretToken || signal.aborted) return;
  const visit = (secret: StoredObject, call: () => Call): Promise<void> | undefined => {
    const nowMs = clock.now();
    if (!tokenSecret(secret) || !isTracked(configMaps, nowMs - periodMs)) return undefined;
    switch (nextStepFor(secret, accounts, nowMs)) {
      case 'mark':
        return markInvalid(options, secrets, secret, call());
      case 'delete':
        return deleteUnused(options, secrets, secret, call());
      default:
        return undefined;
    }
  };
  await visitPeriodically(options, { visited: secrets, read: [accounts, configMaps], intervalMs: dayMs, visit });
}

/** Whether uses have been noted since that time. */
function isTracked({ collection }: Resource, sinceMs: number): boolean {
  const tracking = readable(collection.get(itemKey(`kube-system/${trackingName}`)));
  const { since = '' } = (tracking && requireKind(tracking.object, 'ConfigMap').data) ?? {};
  // It may have begun at the end of that day.
  return isDate(since) && Date.parse(since) + dayMs <= sinceMs;
}

function nextStepFor(stored: StoredObject, accounts: Resource, nowMs: number): 'mark' | 'delete' | undefined {
  const secret = requireKind(stored.object, 'Secret');
  const { creationTimestamp = '', deletionTimestamp, labels = {}, annotations = {} } = secret.metadata;
  const keptFrom = formatDate(nowMs - periodMs);
  const lastUsed = labels[lastUsedLabel];
  if (deletionTimestamp !== undefined || !(Date.parse(creationTimestamp) < nowMs - periodMs)) return undefined;
  // What cannot be read may be today.
  if (lastUsed !== undefined && (!isDate(lastUsed) || lastUsed >= keptFrom)) return undefined;
  const account = readable(accounts.collection.get(accountKeyOf(stored.namespace, secret) ?? ''));
  if (!account || (annotations[uidAnnotation] || account.uid) !== account.uid) return undefined;
  const { secrets: listed = [] } = requireKind(account.object, 'ServiceAccount');
  if (!listed.some(({ name }) => name === stored.name)) return undefined;
  const invalidSince = labels[invalidSinceLabel];
  if (!isDate(invalidSince)) return 'mark';
  return invalidSince !== undefined && invalidSince < keptFrom ? 'delete' : undefined;
}

async function markInvalid({ log, clock }: ControllerOptions, secrets: Resource, secret: StoredObject, call: Call) {
  const { key, revision } = secret;
  const label = { [invalidSinceLabel]: formatDate(clock.now()) };
  const change = (current: KubeObject): object => {
    const { metadata } = current;
    // It may have been used since.
    if (metadata.resourceVersion !== String(revision)) return current;
    return { ...current, metadata: { ...metadata, labels: { ...metadata.labels, ...label } } };
  };
  await changeObject(secrets, secret, { manager, change }, call);
  log.info('marked an unused service account token as invalid', { secret: textOfItemKey(key) });
}

async function deleteUnused({ log }: ControllerOptions, secrets: Resource, secret: StoredObject, call: Call) {
  // It may have been used since.
  if (!(await deleteUnlessChanged(secrets, secret, call))) return;
  log.info('deleted an unused service account token', { secret: textOfItemKey(secret.key) });
}
