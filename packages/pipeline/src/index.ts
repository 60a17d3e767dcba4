export type { Auditor } from './audit.ts';
export { buildHandlerChain } from './chain.ts';
export { discoveryRoutes, type VersionInfo } from './discovery/discovery.ts';
export {
  type NonResourceRoutes,
  createNonResourceRouter,
} from './non-resource/router.ts';
export type { ApiRequest, ApiResponse, Handler } from './exchange.ts';
export { flowControlRoutes } from './non-resource/flow-control.ts';
export { healthRoutes } from './non-resource/health.ts';
export { OpenWatches } from './handlers/open-watches.ts';
export { createWatchMeasures } from './handlers/watch-measures.ts';
export { issuerRoutes, issuerPaths } from './non-resource/service-account-issuer.ts';
export { metricsRoutes } from './non-resource/metrics.ts';
export { callbackPlaces } from './listener/measures.ts';
export { defaultStreamsMax } from './listener/limits.ts';
export type { ReportFailure } from './listener/callback-guard.ts';
export { type Listener, listen } from './listener/listener.ts';
export { cutOffResponses, type ListenerMeasures, refusedBodies, refusedConnections } from './listener/measures.ts';
export { checkCertificate, type ServingCertificate } from './listener/serving-certificate.ts';
export { openApiRoutes } from './openapi/openapi.ts';
export type { RequestInfo } from './request-info.ts';
export { textResponse } from './responses.ts';
export { createRouter } from './router.ts';
export type { ReportFault } from './stages/answer.ts';
export type { ReportRejection } from './stages/authenticate.ts';
export { createInFlightMeasures, type InFlightMeasures } from './stages/in-flight-measures.ts';
export type { RequestLimits } from './stages/limit-requests.ts';
export type { EndedRequest, RequestLog } from './stages/log-requests.ts';
export { createServedVersions } from './served-versions.ts';
export { createRequestMeasures } from './stages/request-measures.ts';
export { rootRoutes } from './zpages/listed-paths.ts';
export { type ReplicaStatus, zpageRoutes } from './zpages/zpages.ts';
