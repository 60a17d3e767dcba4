export type { Auditor } from './audit.ts';
export { buildHandlerChain as chain } from './chain.ts';
export { discoveryRoutes as discoveryDocuments, type VersionInfo } from './discovery/discovery.ts';
export {
  type NonResourceRoutes as Documents,
  createNonResourceRouter as documentRoutes,
} from './non-resource/router.ts';
export type { ApiRequest, ApiResponse, Handler } from './exchange.ts';
export { healthRoutes as healthDocuments } from './non-resource/health.ts';
export { OpenWatches } from './handlers/open-watches.ts';
export type { OpenWatchMeasures } from './handlers/event-stream.ts';
export type { Watched, WatchMeasures } from './handlers/watch.ts';
export { issuerRoutes as issuerDocuments, issuerPaths } from './non-resource/service-account-issuer.ts';
export { metricsRoutes as metricsDocuments } from './non-resource/metrics.ts';
export { callbackPlaces } from './listener/callback-guard.ts';
export { defaultStreamsMax } from './listener/limits.ts';
export type { ReportFailure } from './listener/callback-guard.ts';
export { type Listener, listen } from './listener/listener.ts';
export { cutOffResponses, type ListenerMeasures, refusedBodies, refusedConnections } from './listener/measures.ts';
export { checkCertificate, followCertificate, type ServingCertificate } from './listener/serving-certificate.ts';
export { openApiRoutes as openApiDocuments } from './openapi/openapi.ts';
export type { RequestInfo } from './request-info.ts';
export { textResponse } from './responses.ts';
export { createRouter as routes } from './router.ts';
export type { ReportFault } from './stages/error-responses.ts';
export type { ReportRejection } from './stages/authenticate.ts';
export type { InFlightMeasures } from './stages/in-flight.ts';
export type { EndedRequest, RequestLog } from './stages/log-requests.ts';
export type { MeasuredRequest, Measures } from './stages/measure.ts';
export { rootRoutes as rootDocuments } from './zpages/listed-paths.ts';
export { zpageRoutes as zpages } from './zpages/zpages.ts';
