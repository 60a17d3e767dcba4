import type { ExpositionFormat, Metrics } from '@cluster-apiserver/telemetry';

/** What a scrape gives. */
export async function exposed(metrics: Metrics, format: ExpositionFormat = 'text'): Promise<string> {
  const { pieces } = await metrics.exposition(format);
  return [...pieces].join('');
}

/** The samples of a metric that are not zero: the text of their labels, and their values. */
export async function samplesOf(metrics: Metrics, name: string): Promise<readonly (readonly [string, number])[]> {
  const samples = Array.from((await exposed(metrics)).matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm));
  return samples.flatMap(([, sample, labels = '', value]) =>
    sample === name && Number(value) !== 0 ? [[labels, Number(value)] as const] : [],
  );
}
