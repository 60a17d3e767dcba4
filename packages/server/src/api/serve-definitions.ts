import type { CleanupStack } from '@cluster-apiserver/base';
import { ServedDefinitions } from '@cluster-apiserver/controllers';
import { customResourceDefinition } from '@cluster-apiserver/kinds';
import type { ServedApi } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';

/** Serves custom resources while their definitions exist. */
export function serveDefinitions(
  api: ServedApi,
  { environment: { clock, random }, log }: ServerContext,
  cleanup: CleanupStack,
): void {
  const definitions = api.current.ofVersion(customResourceDefinition);
  if (!definitions) return;
  const served = new ServedDefinitions(definitions, { api, clock, random, log: log.withName('custom-resources') });
  cleanup.defer('custom resources', () => served.close());
}
