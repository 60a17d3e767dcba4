import type { ExpositionFormat, Metrics } from '../src/index.ts';

/** What a scrape gives. */
export async function exposed(metrics: Metrics, format: ExpositionFormat = 'text'): Promise<string> {
  const { pieces } = await metrics.exposition(format);
  return [...pieces].join('');
}
