import type { ExpositionFormat, Metrics } from '@cluster-apiserver/telemetry';

/** What a scrape gives. */
export async function exposed(metrics: Metrics, format: ExpositionFormat = 'text'): Promise<string> {
  const { pieces } = await metrics.exposition(format);
  return [...pieces].join('');
}
