/**
 * Generates docs/metrics.md from the declared metrics. After an intended change `npm run reference` writes the page; a
 * test in metrics.etcd.test.ts shows the difference.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '@cluster-apiserver/server';
import type { DeclaredMetric } from '@cluster-apiserver/telemetry';
import { serveConfigured } from './configured-server.ts';
import { generated } from '../reference/markdown.ts';
import { nonconformingNames } from './lint.ts';

const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'metrics.md');

export const writtenPage = (): string => readFileSync(file, 'utf8');

export const pageOf = (metrics: Server['metrics']): string => `# Metrics

${generated('packages/tests/test/metrics/metrics-page.ts')}

Every replica serves these at \`/metrics\`. They require the permission to \`get\` that path, which the group \`system:monitoring\` has by default. Metrics that kube-apiserver 1.36 also has use its names, labels and buckets. \`/metrics/slis\` contains only the results of health checks. Scrapers that accept OpenMetrics receive it, with exemplars for requests whose trace is recorded; Prometheus needs \`--enable-feature=exemplar-storage\` to store them.

Unknown values that clients send (verbs, resources, paths) are counted as \`other\`. An empty label value means that the request has none, such as the resource of \`/version\`.

Rules, alerts and a dashboard are in [deploy/monitoring](../deploy/monitoring/README.md); what to do about an alert is in [runbooks.md](runbooks.md).

## /metrics

${tableOf(metrics['/metrics'])}

## /metrics/slis

${tableOf(metrics['/metrics/slis'])}

## Names that Prometheus advises against

\`promtool check metrics\` finds nothing to complain about but the following, which are upstream's names. In OpenMetrics these counters have the type \`unknown\`, because that format would change their names.

${nonconformingNames.map(({ name, because }) => `- \`${name}\`: ${because}`).join('\n')}

## Buckets

${bucketsOf([...metrics['/metrics'], ...metrics['/metrics/slis']])}
`;

const tableOf = (metrics: readonly DeclaredMetric[]): string =>
  [
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...metrics.map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(' ')} | ${help.replaceAll('|', '\\|')} |`,
    ),
  ].join('\n');

const bucketsOf = (metrics: readonly DeclaredMetric[]): string => {
  const byBuckets = Map.groupBy(
    metrics.filter(({ buckets }) => buckets.length > 0),
    ({ buckets }) => buckets.join(', '),
  );
  return [
    '| metrics | buckets |',
    '|---|---|',
    ...Array.from(
      byBuckets,
      ([buckets, some]) => `| ${some.map(({ name }) => `\`${name}\``).join(', ')} | ${buckets} |`,
    ),
  ].join('\n');
};

if (import.meta.main) {
  const server = await serveConfigured();
  writeFileSync(file, pageOf(server.metrics));
  await server.close();
}
