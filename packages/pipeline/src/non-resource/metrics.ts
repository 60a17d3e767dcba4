import type { Exposition, ExpositionFormat, Metrics } from '@cluster-apiserver/telemetry';
import type { NonResourceHandler } from './live-routes.ts';
import type { NonResourceRoutes } from './router.ts';
import type { ApiResponse } from '../exchange.ts';
import type { BodySource } from '../body-source.ts';
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
  body: new TextSource(pieces),
});

class TextSource implements BodySource {
  readonly #pieces: Iterator<string>;

  constructor(pieces: Iterable<string>) {
    this.#pieces = pieces[Symbol.iterator]();
  }

  next(): Buffer | undefined {
    const { value, done } = this.#pieces.next();
    return done ? undefined : Buffer.from(value);
  }

  close(): void {
    this.#pieces.return?.();
  }
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
