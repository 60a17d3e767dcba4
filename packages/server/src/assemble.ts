import { Scope } from '@cluster-apiserver/base';
import { parseFeatureGates } from '@cluster-apiserver/config';
import { firstToDecide, measuredAuthenticator, measuredAuthorizer } from '@cluster-apiserver/gates';
import { type KindServices, kinds as kindsOf, namespace as namespaceKind } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model';
import {
  chain,
  discoveryDocuments,
  documentRoutes,
  healthDocuments,
  metricsDocuments,
  type ReportFault,
  type ReportRejection,
  openApiDocuments,
  OpenWatches,
  routes,
} from '@cluster-apiserver/pipeline';
import { openRegistry } from '@cluster-apiserver/registry';
import { createMetrics, type DeclaredMetric, type Log } from '@cluster-apiserver/telemetry';
import { asError } from './as-error.ts';
import { FlagError, type ServerFlags } from './flags.ts';
import type { Surroundings } from './surroundings.ts';
import { versionInfo } from './version.ts';
import { openAdmission } from './wiring/admission.ts';
import { alwaysAllowedPathsOf } from './wiring/always-allowed-paths.ts';
import { configzDocument, configzPath, fileRecords, recordFilesReadAtStart } from './wiring/configz.ts';
import { allowedOrigins } from './wiring/allowed-origins.ts';
import { openAudit } from './wiring/audit.ts';
import { openAuthorization } from './wiring/authorization.ts';
import { openAuthenticators } from './wiring/authenticators.ts';
import { requirePairs } from './wiring/flag-files.ts';
import type { FollowingOptions } from './wiring/followed-configuration.ts';
import { openEncryption } from './wiring/encryption.ts';
import { certificateMeasures } from './wiring/certificate-measures.ts';
import { startControllers } from './wiring/controllers.ts';
import { findAccountIn } from './wiring/find-account.ts';
import { checkStorage, openHealth } from './wiring/health.ts';
import { monitorHeap } from './wiring/heap.ts';
import { openRequestLog } from './wiring/request-log.ts';
import { logMeasures } from './wiring/log-measures.ts';
import { openListener } from './wiring/listener.ts';
import { authenticationMeasures, authorizationAttemptMeasures, tokenCacheMeasure } from './wiring/identity-measures.ts';
import { inFlightMeasures } from './wiring/measures.ts';
import { makeSystemNamespaces, namespacesIn } from './wiring/namespaces.ts';
import { openParamRights } from './wiring/param-rights.ts';
import { openRbac } from './wiring/rbac.ts';
import { requestMeasures } from './wiring/request-measures.ts';
import { openReviews } from './wiring/reviews.ts';
import { apiAudiences } from './wiring/service-account-flags.ts';
import { openServiceAccountTokens } from './wiring/service-account-tokens.ts';
import { statusDocuments } from './wiring/status-documents.ts';
import { openStorage, watchCacheReporter } from './wiring/storage.ts';
import { publishWatchCache, readMeasures } from './wiring/watch-cache-measures.ts';
import { publishVersion } from './wiring/version-measures.ts';
import { openTracing } from './wiring/tracing.ts';
import { watchMeasures } from './wiring/watch-measures.ts';

/** A server that serves. */
export interface Server {
  readonly port: number;
  /** What it counts, by the path where that is read. */
  readonly metrics: Readonly<Record<'/metrics' | '/metrics/slis', readonly DeclaredMetric[]>>;
  /** /readyz fails from now on; everything else goes on. */
  beginShutdown(): void;
  /** Asks clients to leave, answers what they have sent, and closes everything in reverse. */
  close(): Promise<void>;
}

/** The one place where the rooms meet. `kinds` is an argument so that a test can serve one of its own. */
export async function assemble(
  flags: ServerFlags,
  surroundings: Surroundings,
  log: Log,
  kinds: (services: KindServices) => readonly Kind[] = kindsOf,
): Promise<Server> {
  const { clock, random } = surroundings;
  const scope = new Scope();
  try {
    requirePairs(flags);
    const { gates, faults } = parseFeatureGates(flags['feature-gates']);
    if (faults.length > 0) throw new FlagError(faults.map((fault) => `--feature-gates: ${fault}`));

    const metrics = createMetrics({ ofProcess: true });
    logMeasures(metrics, log);
    const slis = createMetrics({ ofProcess: false });
    monitorHeap(surroundings, metrics, log, scope);
    const keyPrefix = flags['etcd-prefix'].replace(/\/+$/, '');
    // What the server keeps for itself. It lies among the rest, so that one watch sees every write of ours.
    const ownPrefix = `${keyPrefix}/.own/`;
    const health = openHealth(clock, log, slis);
    const certificates = certificateMeasures(metrics);
    const following: FollowingOptions = {
      flags,
      surroundings,
      metrics,
      log,
      serverId: random.uuid(),
      records: fileRecords(clock),
    };
    await recordFilesReadAtStart(flags, surroundings.files, following.records);
    const tracer = await openTracing(following, scope);
    const isAlwaysAllowed = alwaysAllowedPathsOf(flags);
    const authentication = { ...following, certificates, isAlwaysAllowed, tokenAsked: tokenCacheMeasure(metrics) };
    const accountTokens = await openServiceAccountTokens(authentication, scope);
    const served = kinds({
      eventLifetimeSeconds: Math.ceil(flags['event-ttl'] / 1000),
      serviceAccountTokens: accountTokens?.forKinds,
    });
    const encryption = await openEncryption(
      { ...following, keyPrefix, kinds: served.filter(({ view }) => !view), health },
      scope,
    );
    const { transformer } = encryption;
    const storage = { ownPrefix, transformer, metrics, certificates, kinds: served };
    const { client, store, measures } = await openStorage(flags, storage, surroundings, log, scope);
    const { resources, views, cache, retryUnreadable } = openRegistry({
      kinds: served,
      store,
      keyPrefix,
      clock,
      random,
      report: watchCacheReporter(log, measures),
      standstillMs: flags['etcd-election-timeout'],
      shardedReads: gates.enabled('ShardedListAndWatch'),
      readMeasures: readMeasures(metrics),
    });
    publishWatchCache(metrics, { cache, resources, client });
    scope.onClose('watch cache', () => cache.close());
    encryption.onChange(retryUnreadable);

    checkStorage(health, { client, cache, clock });
    const ofNamespaces = resources.find(({ kind }) => kind === namespaceKind);
    const namespaces = ofNamespaces && namespacesIn(ofNamespaces, clock);

    let shuttingDown = false;
    health.add({
      name: 'shutdown',
      endpoints: ['readyz'],
      check: () => {
        if (shuttingDown) throw new Error('the server is about to stop');
      },
    });

    const { filled } = cache;
    const roles = openRbac({ resources, filled, clock, random, health, log }, scope);
    const rbac = roles?.authorizer ?? firstToDecide([]);
    const authorization = await openAuthorization({ ...following, isAlwaysAllowed, rbac }, scope);
    const authorizer = authorization.ofRequests;
    const always = [
      ...(roles ? [roles.escalationCheck(authorizer)] : []),
      ...openParamRights(resources, views, authorization.ofAdmission),
    ];
    const admission = await openAdmission(flags, {
      namespaces,
      resources,
      views,
      authorizer: authorization.ofAdmission,
      always,
      clock,
      random,
      files: surroundings.files,
      records: following.records,
      metrics,
      serverId: following.serverId,
      log,
      scope,
    });
    const accounts = accountTokens?.authenticator(findAccountIn(resources));
    const authenticators = await openAuthenticators(authentication, accounts, scope);
    const reviews = openReviews({
      clock,
      tokens: authenticators.tokens,
      authorizer,
      apiAudiences: apiAudiences(flags),
    });
    const auditor = await openAudit(following, scope);
    const outward = [...served, ...reviews];
    const about = versionInfo(surroundings.runtime);
    publishVersion(metrics, about, gates);
    const reportFault: ReportFault = (error, { request, auditId }) =>
      log.withName('http').error('internal error', {
        method: request.method,
        path: request.target.split('?', 1)[0],
        'audit-ID': auditId,
        error: asError(error),
        stack: asError(error).stack,
      });
    const reportRejection: ReportRejection = (error, { request, auditId }) =>
      log.withName('authentication').warn('authentication failed', {
        'audit-ID': auditId,
        srcIP: request.remoteAddress,
        error,
      });
    const handler = chain(
      {
        clock,
        random,
        requestTimeoutMs: flags['request-timeout'],
        allowedOrigin: allowedOrigins(flags['cors-allowed-origins']),
        authenticator: measuredAuthenticator(authenticators.requests, clock, authenticationMeasures(metrics)),
        authorizer: measuredAuthorizer(authorizer, clock, authorizationAttemptMeasures(metrics)),
        auditor,
        inFlightLimits: {
          readOnly: flags['max-requests-inflight'],
          mutating: flags['max-mutating-requests-inflight'],
        },
        inFlightMeasures: inFlightMeasures(metrics, outward, clock, scope),
        measures: requestMeasures(metrics, outward, clock),
        requestLog: openRequestLog(log),
        tracer,
        report: reportFault,
        reportRejection,
      },
      routes({
        resources: [...resources, ...views],
        reviews,
        clock,
        checks: { admission, authorizer },
        deleteCollectionWorkers: flags['delete-collection-workers'],
        mayDeleteUnreadable: gates.enabled('AllowUnsafeMalformedObjectDeletion') ? authorizer : undefined,
        watchLimits: {
          clock,
          random,
          minRequestTimeoutMs: flags['min-request-timeout'] * 1000,
          openWatches: new OpenWatches({
            clock,
            maxPerUser: flags['max-watches-per-user'],
            reportStalled: (count) =>
              log
                .withName('watch')
                .info('ended watches whose clients stopped reading; they can resume where they were', { count }),
          }),
          measures: watchMeasures(metrics, outward),
          report: reportFault,
        },
        documents: documentRoutes({
          ...discoveryDocuments(outward, about),
          ...openApiDocuments(outward, about.gitVersion, clock),
          ...healthDocuments(health),
          ...accountTokens?.documents,
          ...statusDocuments({ flags, version: about, clock, random }),
          ...metricsDocuments(metrics, slis),
          [configzPath]: configzDocument(flags, following.records, clock),
        }),
      }),
    );

    roles?.startDefaultRoles();
    if (namespaces)
      makeSystemNamespaces({ names: flags['system-namespaces'], namespaces, filled, clock, random, log }, scope);
    startControllers({ flags, surroundings, log, metrics, client, resources, views, ownPrefix }, scope);
    const listener = await openListener(handler, { ...following, certificates }, scope);
    return {
      port: listener.port,
      metrics: { '/metrics': metrics.declared, '/metrics/slis': slis.declared },
      beginShutdown: () => {
        shuttingDown = true;
      },
      close: () => scope.close((what, error) => log.error('closing failed', { what, error: asError(error) })),
    };
  } catch (error) {
    await scope.close();
    throw error;
  }
}
