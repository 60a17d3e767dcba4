import type { CleanupStack } from '@cluster-apiserver/base';
import { type ServedElsewhere, ServedDefinitions } from '@cluster-apiserver/controllers';
import { customResourceDefinition } from '@cluster-apiserver/kinds';
import { createConversionWebhook } from '@cluster-apiserver/policies';
import type { ServedApi } from '@cluster-apiserver/registry';
import type { AdmissionSettings } from '../admission/admission-settings.ts';
import { openWebhookClients } from '../admission/webhook-plugins.ts';
import type { ServerContext } from '../configuration/context.ts';
import type { Replicas } from '../replicas/replicas.ts';

/** The fact by which a replica says which definitions it serves: all up to this revision. */
const servedFact = 'definitions-served-up-to';

/** Serves custom resources while their definitions exist. This replica is ready once it serves those that it has found. */
export function serveDefinitions(
  api: ServedApi,
  replicas: Replicas | undefined,
  { webhookServices }: Pick<AdmissionSettings, 'webhookServices'>,
  { environment: { clock, random }, log, health }: ServerContext,
  cleanup: CleanupStack,
): void {
  const definitions = api.ofVersion(customResourceDefinition);
  if (!definitions) return;
  const clients = openWebhookClients('conversion webhooks', webhookServices, clock, cleanup);
  const served = new ServedDefinitions(definitions, {
    api,
    clock,
    random,
    log: log.withName('custom-resources'),
    conversionOf: ({ spec: { conversion } }) => {
      const { clientConfig, conversionReviewVersions } = conversion?.webhook ?? {};
      if (conversion?.strategy !== 'Webhook' || !clientConfig) return undefined;
      return createConversionWebhook(
        { clientConfig, conversionReviewVersions: conversionReviewVersions ?? [] },
        { clients, clock, random },
      );
    },
    // A single replica knows it by itself.
    caughtUp: (revision) => {
      if (replicas && replicas.live().length > 1) replicas.publish(servedFact, String(revision));
    },
  });
  api.catchUp = ({ group, plural }, call) => served.catchUp(`${plural}.${group}`, call);
  cleanup.defer('custom resources', () => served.close());
  health.add({
    name: 'custom-resources',
    endpoints: ['readyz', 'healthz'],
    check: () => {
      if (!served.hasCaughtUp) throw new Error('the objects of custom resources are being loaded');
    },
  });
}

/** What the other replicas serve. One that has never said it is not ready yet, or has no custom resources. */
export const servedElsewhere = (replicas: Replicas): ServedElsewhere => ({
  isServed: (revision) =>
    replicas
      .live()
      .every(
        ({ identity, facts }) => identity === replicas.identity || Number(facts[servedFact] ?? Infinity) >= revision,
      ),
  onChange: (listener) => replicas.onChange(listener),
});
