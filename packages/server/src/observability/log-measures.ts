import { ownKeys } from '@cluster-apiserver/base';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';

/** Counts log lines that were not written. */
export const publishOmittedLines = (metrics: Metrics, { omitted }: Log): void =>
  metrics.readAtScrape<'reason'>(
    'counter',
    {
      name: 'apiserver_log_lines_omitted_total',
      help: 'Number of log lines not written, by reason: rate_limit (too many with one message), backlog (the reader is too slow) or output_error (writing failed).',
      labels: ['reason'],
    },
    () => ownKeys(omitted).map((reason) => ({ labels: { reason }, value: omitted[reason] })),
  );
