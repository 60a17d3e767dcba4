import { asError, CleanupStack } from '@cluster-apiserver/base';
import { createTokenCaches } from '@cluster-apiserver/gates';
import { type KindServices, kinds as kindsOf } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { ServedApi } from '@cluster-apiserver/registry';
import { healthRoutes, metricsRoutes } from '@cluster-apiserver/pipeline';
import { createMetrics, type DeclaredMetric, type Log } from '@cluster-apiserver/telemetry';
import type { Environment } from './environment.ts';
import type { ServerFlags } from './flags/flags.ts';
import { openAccessControl } from './authorization/access-control.ts';
import { openAudit } from './audit/audit.ts';
import { openAuthenticators } from './authentication/authenticators.ts';
import { configzPath, createConfigzDocument } from './configuration/configz.ts';
import { openContext } from './configuration/context.ts';
import { loadSettings } from './configuration/settings.ts';
import { warnOfSettings } from './configuration/warn-of-settings.ts';
import { createReviews } from './authorization/reviews.ts';
import { formatFlags } from './flags/format-flags.ts';
import { publishVersion } from './observability/version-measures.ts';
import { createStatusDocuments } from './serving/status-documents.ts';
import { getVersionInfo } from './version.ts';
import { openClientSigner } from './controllers/client-signer.ts';
import { startControllers } from './controllers/controllers.ts';
import { findRootCertificate, loadRootCertificates } from './controllers/root-certificates.ts';
import { createStartupReader } from './files/startup-files.ts';
import { createUseLog } from './authentication/note-token-use.ts';
import { createFindReferent } from './authentication/find-referent.ts';
import { openListener } from './serving/listener.ts';
import { createLoopback } from './api/loopback.ts';
import { servedElsewhere, serveDefinitions } from './api/serve-definitions.ts';
import { startSystemNamespaces } from './api/namespaces.ts';
import { createRequestHandler } from './serving/request-handler.ts';
import { openResources } from './api/served-resources.ts';
import { openReplicas } from './replicas/replicas.ts';
import { configurationFact, describeReplicas, hashConfiguration, revisionFact } from './replicas/replica-status.ts';
import { openServiceAccountTokens } from './authentication/service-account-tokens.ts';
import { followServingCertificate } from './serving/serving-certificate.ts';
import { addShutdownCheck } from './serving/shutdown.ts';
import { openTracing } from './observability/tracing.ts';

/** A running server. */
export interface Server {
  readonly host: string;
  readonly port: number;
  /** Time to keep serving after `beginShutdown`. */
  readonly shutdownDelayMs: number;
  /** What is served; kinds may come, change and go while the server runs. */
  readonly api: ServedApi;
  /** The declared metrics, by the path that exposes them. */
  readonly metrics: Readonly<Record<'/metrics' | '/metrics/slis', readonly DeclaredMetric[]>>;
  /** Makes /readyz fail and gives up leadership; requests are still served. */
  beginShutdown(): void;
  /** Drains connections, answers requests in flight, and closes everything in reverse order. */
  close(): Promise<void>;
}

/** Connects the packages to a server, from the bottom up. Tests pass their own `kinds`. */
export async function assemble(
  flags: ServerFlags,
  environment: Environment,
  log: Log,
  kinds: (services: KindServices) => readonly Kind[] = kindsOf,
): Promise<Server> {
  const cleanup = new CleanupStack();
  try {
    const { clock, random, files, runtime } = environment;
    const settings = await loadSettings(flags, files);
    await warnOfSettings(settings, files, log);
    const { storage, serving, authentication, gates } = settings;
    const { isAlwaysAllowed } = settings.authorization;
    const slis = createMetrics({ ofProcess: false });
    const context = openContext(environment, log, slis, cleanup);
    const { metrics, health, records } = context;
    const version = getVersionInfo(runtime);
    publishVersion(metrics, version, gates);
    const tracer = await openTracing(settings.tracingFile, context, cleanup);
    const createCache = createTokenCaches(clock, random, metrics);
    const accountTokens = await openServiceAccountTokens(authentication.serviceAccounts, createCache, context, cleanup);
    const servedKinds = kinds({
      eventLifetimeSeconds: storage.eventLifetimeSeconds,
      serviceAccountTokens: accountTokens?.forKinds,
    });
    const served = await openResources(storage, servedKinds, gates, context, cleanup);
    const { api, clients, namespaces } = served;
    const failReadiness = addShutdownCheck(health);
    const access = await openAccessControl(settings, served, context, cleanup);
    const { authorizer, admission, rbac } = access;
    const serviceAccounts = accountTokens?.createAuthenticator(
      createFindReferent(api),
      createUseLog(api, context, cleanup),
    );
    const { requests: authenticator, tokens } = await openAuthenticators(
      authentication,
      { serviceAccounts, createCache, isAlwaysAllowed },
      context,
      cleanup,
    );
    const auditor = await openAudit(settings.audit, context, cleanup);
    const userAgent = `cluster-apiserver/${version.gitVersion}`;
    const loopback = createLoopback({ random, admission, auditor, userAgent });
    namespaces?.connect(loopback);
    const shownFlags = formatFlags(flags);
    const replicas = openReplicas(
      {
        ...served,
        version: version.gitVersion,
        facts: (revision) => ({
          [revisionFact]: String(revision),
          [configurationFact]: JSON.stringify(hashConfiguration(shownFlags, records.list())),
        }),
      },
      context,
      cleanup,
    );
    const handler = createRequestHandler(
      serving,
      {
        api,
        access,
        reviews: createReviews({ clock, tokens, authorizer, apiAudiences: authentication.apiAudiences }),
        authenticator,
        tracer,
        auditor,
        gates,
        version,
        documents: {
          ...healthRoutes(health),
          ...accountTokens?.documents,
          ...createStatusDocuments({
            flags: shownFlags,
            version,
            clock,
            random,
            replicas: replicas && (() => describeReplicas(replicas)),
          }),
          ...metricsRoutes(metrics, slis),
          [configzPath]: createConfigzDocument(shownFlags, records, clock),
        },
      },
      context,
      cleanup,
    );

    serveDefinitions(api, replicas, settings.admission, context, cleanup);
    rbac?.startDefaultRoles();
    startSystemNamespaces(settings.admission.systemNamespaces, served, context, cleanup);
    const certificate = await followServingCertificate(serving, context, cleanup);
    const rootCertificates =
      (await loadRootCertificates(settings.controllers.rootCaFile, createStartupReader(context))) ??
      findRootCertificate(certificate.current());
    const clientSigner = await openClientSigner(settings.controllers, context, cleanup);
    const { ownPrefix, compactionIntervalMs } = storage;
    const resign = startControllers(
      settings.controllers,
      {
        clients,
        api,
        ownPrefix,
        compactionIntervalMs,
        services: {
          create: loopback.create,
          rootCertificates,
          signSecretToken: accountTokens?.signSecretToken,
          clientSigner,
          servedElsewhere: replicas && servedElsewhere(replicas),
        },
      },
      context,
      cleanup,
    );
    const requestsCertificates = (authentication.clientCaFile ?? authentication.frontProxies.caFile) !== undefined;
    const listener = await openListener(handler, certificate, { ...serving, requestsCertificates }, context, cleanup);
    return {
      host: serving.host,
      port: listener.port,
      shutdownDelayMs: serving.shutdownDelayMs,
      api,
      metrics: { '/metrics': metrics.declared, '/metrics/slis': slis.declared },
      beginShutdown: () => {
        failReadiness();
        // Requests drain for seconds, in which another replica can lead already.
        resign();
      },
      close: () =>
        cleanup.close((what, error) =>
          // Meaning: The replica stops, and one of its parts ended with an error. Clients do not notice.
          log.error('a part of the server failed to close', 'nothing, if the process has ended; its data are in etcd', {
            what,
            error: asError(error),
          }),
        ),
    };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
}
