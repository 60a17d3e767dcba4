import { asError, callUntil, type CleanupStack } from '@cluster-apiserver/base';
import { changeObject } from '@cluster-apiserver/controllers';
import { formatDate, isUsedToday, lastUsedLabel, type UsedSecret } from '@cluster-apiserver/gates';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';

/** The writer, in managedFields, as in Kubernetes. */
const manager = 'kube-apiserver';

const writeTimeoutMs = 10_000;

/** Writes at a time, of one secret each. Beyond it the next use of a token is noted. */
const writesMax = 16;

/** Labels secrets with the date of the last use of their token, once a day, and without delaying the requests. */
export function createUseLog(
  api: LiveApi,
  { environment: { clock }, log }: ServerContext,
  cleanup: CleanupStack,
): (secret: UsedSecret) => void {
  const secrets = api.byGroupKind('', 'Secret');
  const writes = new Map<string, Promise<void>>();
  cleanup.defer('labels of used tokens', async () => void (await Promise.all(writes.values())));
  const label = (current: KubeObject): object => {
    const { metadata } = current;
    // Another replica may have been first.
    if (isUsedToday(metadata.labels?.[lastUsedLabel], clock.now())) return current;
    const labels = { ...metadata.labels, [lastUsedLabel]: formatDate(clock.now()) };
    return { ...current, metadata: { ...metadata, labels } };
  };
  return (secret) => {
    if (!secrets || writes.has(secret.uid) || writes.size >= writesMax) return;
    const write = changeObject(
      secrets,
      secret,
      { manager, change: label },
      callUntil(clock.monotonicMs() + writeTimeoutMs),
    )
      .catch((error: unknown) => {
        const { namespace, name } = secret;
        log
          .withName('authentication')
          .debug(2, 'noting the use of a secret token failed', { namespace, name, error: asError(error) });
      })
      .finally(() => writes.delete(secret.uid));
    writes.set(secret.uid, write);
  };
}
