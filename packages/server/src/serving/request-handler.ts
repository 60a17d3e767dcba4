import { asError, type CleanupStack, type Clock } from '@cluster-apiserver/base';
import type { FeatureGates } from '@cluster-apiserver/config';
import { type Authenticator, createMeasuredAuthenticator, createMeasuredAuthorizer } from '@cluster-apiserver/gates';
import {
  type ApiRequest,
  type Auditor,
  buildHandlerChain,
  type NonResourceRoutes,
  discoveryRoutes,
  flowControlRoutes,
  createNonResourceRouter,
  type Handler,
  openApiRoutes,
  OpenWatches,
  type ReportFault,
  type ReportRejection,
  createRouter,
  createInFlightMeasures,
  createRequestMeasures,
  createServedVersions,
  createWatchMeasures,
  type VersionInfo,
} from '@cluster-apiserver/pipeline';
import type { Review } from '@cluster-apiserver/model/kind';
import { isUnreadable, type LiveApi } from '@cluster-apiserver/registry';
import type { Log, Tracer } from '@cluster-apiserver/telemetry';
import type { AccessControl } from '../authorization/access-control.ts';
import type { ServerContext } from '../configuration/context.ts';
import { openRequestLimits } from './request-limits.ts';
import { withRejectionLog } from './rejection-log.ts';
import { createRequestLog } from './request-log.ts';
import type { ServingSettings } from './serving-settings.ts';

export interface HandlerDependencies {
  readonly api: LiveApi;
  readonly access: AccessControl;
  readonly reviews: readonly Review[];
  readonly authenticator: Authenticator;
  readonly tracer: Tracer | undefined;
  readonly auditor: Auditor | undefined;
  readonly gates: FeatureGates;
  readonly version: VersionInfo;
  /** Paths that are neither resources nor depend on them. */
  readonly documents: NonResourceRoutes;
}

/** The request pipeline: all stages, and behind them the routes to resources, reviews and documents. */
export function createRequestHandler(
  settings: ServingSettings,
  { api, access, reviews, authenticator, tracer, auditor, gates, version, documents }: HandlerDependencies,
  { environment, metrics, log }: ServerContext,
  cleanup: CleanupStack,
): Handler<ApiRequest> {
  const { clock, random } = environment;
  const { authorizer, admission } = access;
  const { requestTimeoutMs, allowedOrigin } = settings;
  const limits = openRequestLimits(settings, api, { environment, metrics, log }, cleanup);
  const versions = createServedVersions(api, reviews);
  const report = createFaultReporter(log);
  return buildHandlerChain(
    {
      clock,
      random,
      find: versions.find,
      requestTimeoutMs,
      allowedOrigin,
      authenticator: createMeasuredAuthenticator(authenticator, clock, metrics),
      authorizer: createMeasuredAuthorizer(authorizer, clock, metrics),
      auditor,
      limits,
      inFlightMeasures: withRejectionLog(createInFlightMeasures(metrics, clock, cleanup), log, clock),
      measures: createRequestMeasures(metrics, clock, versions.onChange),
      requestLog: createRequestLog(log),
      tracer,
      report,
      reportRejection: createRejectionReporter(log),
    },
    createRouter({
      api,
      reviews,
      clock,
      checks: { admission, authorizer },
      deleteCollectionWorkers: settings.deleteCollectionWorkers,
      unsafeDeletionAuthorizer: gates.enabled('AllowUnsafeMalformedObjectDeletion') ? authorizer : undefined,
      watchLimits: {
        clock,
        random,
        minRequestTimeoutMs: settings.minRequestTimeoutMs,
        openWatches: createOpenWatches(settings.watchesPerUserMax, clock, log),
        measures: createWatchMeasures(metrics),
        report,
      },
      nonResourceRouter: createNonResourceRouter(
        { ...documents, ...(limits && flowControlRoutes(limits.control, clock)) },
        [discoveryRoutes(versions.list, version, clock), openApiRoutes(versions.list, version.gitVersion, clock)],
      ),
    }),
  );
}

const createFaultReporter =
  (log: Log): ReportFault =>
  (fault, { request: { method, target }, auditId }) => {
    const path = target.split('?', 1)[0];
    const error = asError(fault);
    if (isUnreadable(fault))
      log.withName('http').error(
        // Meaning: A request needed an object that cannot be decrypted or decoded, and was answered with 500.
        'stored object unreadable',
        'configure the key that encrypted it, or delete the object if the key is lost: docs/encryption.md',
        { method, path, 'audit-ID': auditId, error },
      );
    else
      log.withName('http').error(
        // Meaning: A request failed for a reason that no code expected.
        'internal error',
        'report the stack as a bug; the client was answered with 500, and other requests go on',
        { method, path, 'audit-ID': auditId, error, stack: error.stack },
      );
  };

const createRejectionReporter =
  (log: Log): ReportRejection =>
  (error, { request, auditId }) => {
    if (error.isUnchecked) return;
    log
      .withName('authentication')
      // Meaning: A request had credentials, and none of the authenticators accepted them. It was answered with 401.
      .warn('authentication failed', 'the credentials of this client are invalid or expired: docs/troubleshooting.md', {
        'audit-ID': auditId,
        srcIP: request.remoteAddress,
        error,
      });
  };

const createOpenWatches = (maxPerUser: number, clock: Clock, log: Log): OpenWatches =>
  new OpenWatches({
    clock,
    maxPerUser,
    reportStalled: (count) =>
      log
        .withName('watch')
        .info('ended watches whose clients stopped reading; they can resume where they were', { count }),
  });
