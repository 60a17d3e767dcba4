export { chain } from './chain.ts';
export { type Documents, documentRoutes } from './documents.ts';
export type { ApiRequest, ApiResponse, Handler } from './exchange.ts';
export { healthDocuments } from './health-documents.ts';
export { type Listener, listen } from './node/listener.ts';
export { checkCertificate, followCertificate, type ServingCertificate } from './node/tls.ts';
export { textResponse } from './respond.ts';
export { routes } from './routes.ts';
export type { Measures } from './stages/measure.ts';
