import type { CleanupStack } from '@cluster-apiserver/base';
import { createMeasuredAuthenticator, createMeasuredAuthorizer } from '@cluster-apiserver/gates';
import {
  type ApiRequest,
  type Auditor,
  buildHandlerChain,
  type NonResourceRoutes,
  discoveryRoutes,
  createNonResourceRouter,
  type Handler,
  healthRoutes,
  metricsRoutes,
  openApiRoutes,
  OpenWatches,
  type ReportFault,
  type ReportRejection,
  createRouter,
} from '@cluster-apiserver/pipeline';
import type { Log, Tracer } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { AccessControl } from '../authorization/access-control.ts';
import { compileAllowedOrigins } from './allowed-origins.ts';
import type { Authenticators } from '../authentication/authenticators.ts';
import { configzPath, createConfigzDocument } from '../configuration/configz.ts';
import type { ServerContext } from '../configuration/context.ts';
import {
  createAuthenticationMeasures,
  createAuthorizationAttemptMeasures,
} from '../observability/identity-measures.ts';
import { createInFlightMeasures } from './in-flight-measures.ts';
import { withRejectionLog } from './rejection-log.ts';
import { openRequestLog } from './request-log.ts';
import { createRequestMeasures } from './request-measures.ts';
import { openReviews } from '../authorization/reviews.ts';
import type { ServedResources } from '../api/served-resources.ts';
import { createServedVersions } from '../api/served-versions.ts';
import { getApiAudiences } from '../authentication/service-account-settings.ts';
import { createStatusDocuments } from './status-documents.ts';
import { createWatchMeasures } from './watch-measures.ts';

export interface HandlerDependencies {
  readonly served: ServedResources;
  readonly access: AccessControl;
  readonly authenticators: Authenticators;
  readonly tracer: Tracer | undefined;
  readonly auditor: Auditor | undefined;
  /** Documents of the issuer of service account tokens; empty if no tokens are issued. */
  readonly issuerDocuments: NonResourceRoutes;
}

/** The request pipeline: all stages, and behind them the routes to resources, reviews and documents. */
export function createRequestHandler(
  context: ServerContext,
  { served, access, authenticators, tracer, auditor, issuerDocuments }: HandlerDependencies,
  cleanup: CleanupStack,
): Handler<ApiRequest> {
  const { flags, environment, metrics, log, gates } = context;
  const { clock, random } = environment;
  const { api } = served;
  const { authorizer, admission } = access;
  const reviews = openReviews({
    clock,
    tokens: authenticators.tokens,
    authorizer,
    apiAudiences: getApiAudiences(flags),
  });
  const versions = createServedVersions(api, reviews);
  const report = createFaultReporter(log);
  return buildHandlerChain(
    {
      clock,
      random,
      requestTimeoutMs: flags['request-timeout'],
      allowedOrigin: compileAllowedOrigins(flags['cors-allowed-origins']),
      authenticator: createMeasuredAuthenticator(authenticators.requests, clock, createAuthenticationMeasures(metrics)),
      authorizer: createMeasuredAuthorizer(authorizer, clock, createAuthorizationAttemptMeasures(metrics)),
      auditor,
      inFlightLimits: {
        readOnly: flags['max-requests-inflight'],
        mutating: flags['max-mutating-requests-inflight'],
      },
      inFlightMeasures: withRejectionLog(createInFlightMeasures(metrics, versions, clock, cleanup), log, clock),
      measures: createRequestMeasures(metrics, versions, clock),
      requestLog: openRequestLog(log),
      tracer,
      report,
      reportRejection: createRejectionReporter(log),
    },
    createRouter({
      api,
      reviews,
      clock,
      checks: { admission, authorizer },
      deleteCollectionWorkers: flags['delete-collection-workers'],
      unsafeDeletionAuthorizer: gates.enabled('AllowUnsafeMalformedObjectDeletion') ? authorizer : undefined,
      watchLimits: {
        clock,
        random,
        minRequestTimeoutMs: flags['min-request-timeout'] * 1000,
        openWatches: createOpenWatches(context),
        measures: createWatchMeasures(metrics),
        report,
      },
      nonResourceRouter: createNonResourceRouter(createDocuments(context, issuerDocuments), [
        discoveryRoutes(versions.list, context.version, clock),
        openApiRoutes(versions.list, context.version.gitVersion, clock),
      ]),
    }),
  );
}

const createFaultReporter =
  (log: Log): ReportFault =>
  (error, { request, auditId }) =>
    log.withName('http').error('internal error', {
      method: request.method,
      path: request.target.split('?', 1)[0],
      'audit-ID': auditId,
      error: asError(error),
      stack: asError(error).stack,
    });

const createRejectionReporter =
  (log: Log): ReportRejection =>
  (error, { request, auditId }) =>
    log.withName('authentication').warn('authentication failed', {
      'audit-ID': auditId,
      srcIP: request.remoteAddress,
      error,
    });

const createOpenWatches = ({ flags, environment: { clock }, log }: ServerContext): OpenWatches =>
  new OpenWatches({
    clock,
    maxPerUser: flags['max-watches-per-user'],
    reportStalled: (count) =>
      log
        .withName('watch')
        .info('ended watches whose clients stopped reading; they can resume where they were', { count }),
  });

/** Paths that are neither resources nor depend on them: health, token issuer, metrics and the state of this server. */
function createDocuments(context: ServerContext, issuerDocuments: NonResourceRoutes): NonResourceRoutes {
  const { flags, environment, metrics, slis, health, version, records } = context;
  const { clock, random } = environment;
  return {
    ...healthRoutes(health),
    ...issuerDocuments,
    ...createStatusDocuments({ flags, version, clock, random }),
    ...metricsRoutes(metrics, slis),
    [configzPath]: createConfigzDocument(flags, records, clock),
  };
}
