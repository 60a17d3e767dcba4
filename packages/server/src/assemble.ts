import { CleanupStack } from '@cluster-apiserver/base';
import { type KindServices, kinds as kindsOf } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { ServedApi } from '@cluster-apiserver/registry';
import type { DeclaredMetric, Log } from '@cluster-apiserver/telemetry';
import { asError } from './as-error.ts';
import type { Environment } from './environment.ts';
import type { ServerFlags } from './flags/flags.ts';
import { openAccessControl } from './authorization/access-control.ts';
import { openAudit } from './audit/audit.ts';
import { openAuthenticators } from './authentication/authenticators.ts';
import { openContext } from './configuration/open-context.ts';
import { startControllers } from './controllers/controllers.ts';
import { createFindAccount } from './authentication/find-account.ts';
import { openListener } from './serving/listener.ts';
import { createLoopback } from './api/loopback.ts';
import { startSystemNamespaces } from './api/namespaces.ts';
import { createRequestHandler } from './serving/request-handler.ts';
import { openResources } from './api/served-resources.ts';
import { openServiceAccountTokens } from './authentication/service-account-tokens.ts';
import { addShutdownCheck } from './serving/shutdown.ts';
import { openTracing } from './observability/tracing.ts';

/** A running server. */
export interface Server {
  readonly port: number;
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
    const context = await openContext(flags, environment, log, cleanup);
    const tracer = await openTracing(context, cleanup);
    const accountTokens = await openServiceAccountTokens(context, cleanup);
    const servedKinds = kinds({
      eventLifetimeSeconds: Math.ceil(flags['event-ttl'] / 1000),
      serviceAccountTokens: accountTokens?.forKinds,
    });
    const served = await openResources(context, servedKinds, cleanup);
    const failReadiness = addShutdownCheck(context.health);
    const access = await openAccessControl(context, served, cleanup);
    const accounts = accountTokens?.createAuthenticator(createFindAccount(served.api));
    const authenticators = await openAuthenticators(context, accounts, cleanup);
    const auditor = await openAudit(context, cleanup);
    const userAgent = `cluster-apiserver/${context.version.gitVersion}`;
    const loopback = createLoopback({ ...environment, ...access, auditor, userAgent });
    served.namespaces?.connect(loopback);
    const issuerDocuments = accountTokens?.documents ?? {};
    const handler = createRequestHandler(
      context,
      { served, access, authenticators, tracer, auditor, issuerDocuments },
      cleanup,
    );

    access.rbac?.startDefaultRoles();
    startSystemNamespaces(context, served, cleanup);
    const resign = startControllers({ ...context, ...served }, cleanup);
    const listener = await openListener(handler, context, cleanup);
    return {
      port: listener.port,
      api: served.api,
      metrics: { '/metrics': context.metrics.declared, '/metrics/slis': context.slis.declared },
      beginShutdown: () => {
        failReadiness();
        // Requests drain for seconds, in which another replica can lead already.
        resign();
      },
      close: () => cleanup.close((what, error) => log.error('closing failed', { what, error: asError(error) })),
    };
  } catch (error) {
    await cleanup.close();
    throw error;
  }
}
