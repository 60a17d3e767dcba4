/** Rules, alerts and dashboard of deploy/monitoring, checked by promtool, a real server and a real Prometheus. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type ConfiguredServer, serveConfigured } from './configured-server.ts';
import {
  alerts,
  labelsGroupedBy,
  panelQueries,
  rules,
  ruleFiles,
  ruleTests,
  runbooks,
  selectorsIn,
} from './monitoring.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';
import { describeIf } from '../describe-if.ts';

const slowMs = 120_000;

let server: ConfiguredServer;
beforeAll(async () => {
  server = await serveConfigured();
  await server.load();
}, slowMs);
afterAll(() => server.close());

const queries = [
  ...panelQueries.map(({ panel, query }) => [panel, query] as const),
  ...rules.map(({ alert, record, expr }) => [alert ?? record ?? '', expr] as const),
];

test.each(queries)('%s uses existing metrics and labels', (_, query) => {
  const declared = new Map(
    [...server.metrics['/metrics'], ...server.metrics['/metrics/slis']].map((metric) => [metric.name, metric]),
  );
  const recorded = new Set(rules.map(({ record }) => record));
  const selectors = selectorsIn(query);
  expect(selectors).not.toEqual([]);
  const known = new Set(['job', 'instance', 'hash']);
  for (const { name, labels } of selectors) {
    if (name === 'up') continue;
    if (recorded.has(name)) {
      // A recorded metric has the labels of its rule.
      for (const label of labelsGroupedBy(rules.find(({ record }) => record === name)?.expr ?? '')) known.add(label);
      continue;
    }
    const metric = declared.get(name) ?? declared.get(name.replace(/_(bucket|sum|count)$/, ''));
    expect({ name, isDeclared: metric !== undefined }).toEqual({ name, isDeclared: true });
    const own = [...(metric?.labels ?? []), 'job', 'instance', ...(name.endsWith('_bucket') ? ['le'] : [])];
    expect({ name, unknown: labels.filter((label) => !own.includes(label)) }).toEqual({ name, unknown: [] });
    for (const label of own) known.add(label);
  }
  expect(labelsGroupedBy(query).filter((label) => !known.has(label))).toEqual([]);
});

test('each alert has a runbook section, and each section an alert', () => {
  const sections = Array.from(runbooks().matchAll(/^## (.+)$/gm), ([, title = '']) => title);
  expect(sections.sort()).toEqual([...new Set(alerts.map(({ alert = '' }) => alert))].sort());
});

test('each alert links to its section', () => {
  for (const { alert = '', annotations = {} } of alerts)
    expect(annotations).toEqual({
      summary: expect.stringMatching(/\.$/),
      description: expect.stringMatching(/\.$/),
      runbook_url: `https://cluster-apiserver.example/docs/runbooks.md#${alert.toLowerCase()}`,
    });
});

test('links within the runbooks are valid', () => {
  const text = runbooks();
  const sections = new Set(Array.from(text.matchAll(/^## (.+)$/gm), ([, title = '']) => title.toLowerCase()));
  const targets = Array.from(text.matchAll(/\]\(#([^)]+)\)/g), ([, target = '']) => target);
  expect(targets.filter((target) => !sections.has(target))).toEqual([]);
});

test('each alert has a test in which it fires', () => {
  const tests = ruleTests.map((file) => readFileSync(file, 'utf8')).join('\n');
  const firing = new Set(
    Array.from(tests.matchAll(/alertname: (\w+)\n\s+exp_alerts:\n\s+- exp_labels/g), ([, name = '']) => name),
  );
  expect([...new Set(alerts.map(({ alert = '' }) => alert))].filter((name) => !firing.has(name))).toEqual([]);
});

const { PROMTOOL_BIN: promtool, PROMETHEUS_BIN: program } = process.env;

describeIf(promtool !== undefined, 'promtool', 'there is no promtool', () => {
  const run = (...args: readonly string[]): { status: number | null; output: string } => {
    const { status, stdout, stderr } = spawnSync(promtool ?? '', args, { encoding: 'utf8' });
    return { status, output: `${stdout}${stderr}` };
  };

  test('accepts the rules', () => {
    const { status, output } = run('check', 'rules', ...ruleFiles);
    expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  test.each(ruleTests)(
    'runs the tests of %s',
    (file) => {
      const { status, output } = run('test', 'rules', file);
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
    },
    slowMs,
  );
});

describeIf(program !== undefined, 'Prometheus', 'there is no Prometheus', () => {
  let prometheus: Prometheus;
  beforeAll(async () => {
    prometheus = await startPrometheus(program ?? '', { ...server, urls: [server.url] });
    // Rates need two scrapes with a change in between.
    await until(
      'recorded rates',
      async () => {
        await server.load();
        await server.scrape('/version', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
        const found = await prometheus.query('verb_resource:apiserver_request_sli_duration_seconds:p99_rate5m >= 0');
        return found.length > 0 || undefined;
      },
      slowMs,
    );
  }, slowMs);
  afterAll(() => prometheus.stop());

  test.each(panelQueries)('$panel: $query has a result', async ({ query }) => {
    // There is no webhook here, so its latency has no samples.
    if (query.includes('apiserver_admission_webhook_admission_duration_seconds')) return;
    // Recording rules depend on each other, so the last need several evaluations.
    await until(query, async () => ((await prometheus.query(query)).length > 0 ? true : undefined));
  });

  test('all rules are evaluated without an error, and no alert fires', async () => {
    interface Evaluated {
      readonly name: string;
      readonly health: string;
      readonly lastError?: string;
      readonly state?: string;
    }
    const evaluated = await until('all rules', async () => {
      const { groups } = await prometheus.api<{ groups: readonly { rules: readonly Evaluated[] }[] }>('rules');
      const all = groups.flatMap((group) => group.rules);
      return all.every(({ health }) => health !== 'unknown') ? all : undefined;
    });
    expect(evaluated).toHaveLength(rules.length);
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(evaluated.filter(({ state }) => state === 'firing')).toEqual([]);
  });

  test('exemplars of sampled requests are stored', async () => {
    const found = await until('an exemplar', async () => {
      const exemplars = await prometheus.api<readonly object[]>('query_exemplars', {
        query: 'apiserver_request_sli_duration_seconds_bucket',
        start: String(0),
        end: '9999999999',
      });
      return exemplars.length > 0 ? exemplars : undefined;
    });
    expect(JSON.stringify(found)).toContain(`"trace_id":"${'a'.repeat(32)}"`);
  });
});
