import type { Distribution, Exemplar } from './distribution.ts';
import { formatLabels } from './series.ts';

/** `text` is the Prometheus text format; `openmetrics` also has exemplars. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** As in kube-apiserver; no metric name requires escaping. */
const escaping = 'escaping=underscores';

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: `text/plain; version=0.0.4; charset=utf-8; ${escaping}`,
  openmetrics: `application/openmetrics-text; version=1.0.0; charset=utf-8; ${escaping}`,
};

export type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

/** A metric with the current values of its series. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  samples(): Iterable<Sample>;
}

/** `labels` are formatted by formatLabels. */
export type Sample =
  | { readonly labels: string; readonly value: number; readonly suffix?: string }
  | { readonly labels: string; readonly distribution: Distribution };

/** Approximate size of a piece. The next piece is created when the client has read the previous one. */
const pieceCharacters = 64 * 1024;

/** All metrics in one of the formats, piece by piece. */
export function* expose(families: readonly MetricFamily[], format: ExpositionFormat): Generator<string> {
  let piece = '';
  for (const family of families) {
    const { name, help } = family;
    const type = getExposedType(format, family);
    // In OpenMetrics the name of a counter lacks the suffix of its samples.
    const title = type === 'counter' && format === 'openmetrics' ? name.slice(0, -counterSuffix.length) : name;
    const escapedHelp = format === 'openmetrics' ? escapeLine(help).replaceAll('"', '\\"') : escapeLine(help);
    piece += `# HELP ${title} ${escapedHelp}\n# TYPE ${title} ${type}\n`;
    for (const sample of family.samples()) {
      piece +=
        'distribution' in sample
          ? formatHistogram(name, sample.labels, sample.distribution, format)
          : `${name}${sample.suffix ?? ''}${sample.labels && `{${sample.labels}}`} ${formatNumber(sample.value)}\n`;
      if (piece.length < pieceCharacters) continue;
      yield piece;
      piece = '';
    }
  }
  yield format === 'openmetrics' ? `${piece}# EOF\n` : piece;
}

const counterSuffix = '_total';

/**
 * OpenMetrics requires samples of counters to end with `_total`. Some of kube-apiserver do not. They keep their names in both
 * formats, so that queries do not depend on the format.
 */
const getExposedType = (format: ExpositionFormat, { name, type }: MetricFamily): MetricType | 'unknown' =>
  format === 'openmetrics' && type === 'counter' && !name.endsWith(counterSuffix) ? 'unknown' : type;

const escapeLine = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

/** Exposed buckets are cumulative. */
function formatHistogram(
  name: string,
  labels: string,
  { bounds, counts, sum, exemplars }: Distribution,
  format: ExpositionFormat,
): string {
  const more = labels && `,${labels}`;
  const all = labels && `{${labels}}`;
  const shown = format === 'openmetrics' ? exemplars : undefined;
  let lines = '';
  let count = 0;
  for (const [at, ownCount] of counts.entries()) {
    count += ownCount;
    const bound = formatNumber(bounds[at] ?? Number.POSITIVE_INFINITY);
    lines += `${name}_bucket{le="${bound}"${more}} ${count}${formatExemplar(shown?.[at])}\n`;
  }
  return `${lines}${name}_sum${all} ${formatNumber(sum)}\n${name}_count${all} ${count}\n`;
}

function formatExemplar(exemplar: Exemplar | undefined): string {
  if (!exemplar) return '';
  const { traceId, spanId, value, atSeconds } = exemplar;
  return ` # {${formatLabels({ trace_id: traceId, span_id: spanId })}} ${formatNumber(value)} ${atSeconds.toFixed(3)}`;
}

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
