import type { Exposition, ExpositionFormat, Metrics } from '@cluster-apiserver/telemetry';
import type { NonResourceHandler } from './live-routes.ts';
import type { NonResourceRoutes } from './router.ts';
import type { ApiResponse } from '../exchange.ts';
import { compressResponse } from '../encoding/gzip.ts';
import { parseMediaRanges } from '../encoding/media-ranges.ts';

/** `/metrics`, and `/metrics/slis`, which has only the results of health checks. */
export const metricsRoutes = (metrics: Metrics, slis: Metrics): NonResourceRoutes => ({
  '/metrics': metricsHandler(metrics),
  '/metrics/slis': metricsHandler(slis),
});

const metricsHandler =
  (metrics: Metrics): NonResourceHandler =>
  async ({ request, auditId }) =>
    compressResponse(
      request,
      metricsResponse(auditId, await metrics.exposition(negotiateFormat(request.header('accept')))),
    );

/** Formatted while it is sent: a scrape of thousands of series must not block the event loop. */
const metricsResponse = (auditId: string, { contentType, pieces }: Exposition): ApiResponse => ({
  status: 200,
  headers: {
    'audit-id': auditId,
    'cache-control': 'no-cache, private',
    'content-type': contentType,
    'x-content-type-options': 'nosniff',
  },
  body: { chunks: () => encodePieces(pieces) },
});

async function* encodePieces(pieces: Iterable<string>): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

const openMetricsVersions: ReadonlySet<string | undefined> = new Set([undefined, '1.0.0', '0.0.1']);

/** The preferred format of the client that this server writes. Text if it accepts none, as other exporters do. */
function negotiateFormat(accept: string | undefined): ExpositionFormat {
  for (const { type, parameters } of parseMediaRanges(accept)) {
    if (type === 'application/openmetrics-text' && openMetricsVersions.has(parameters.get('version')))
      return 'openmetrics';
    if (type === 'text/plain' || type === 'text/*' || type === '*/*') return 'text';
  }
  return 'text';
}
