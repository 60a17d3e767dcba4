/** Metrics of a server with everything configured. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type ConfiguredServer, serveConfigured } from './configured-server.ts';
import { nonconformingNames, exampleOf, lint } from './lint.ts';
import { pageOf, writtenPage } from './metrics-page.ts';
import { describeIf } from '../describe-if.ts';

const startMs = 60_000;
const openMetrics = { accept: 'application/openmetrics-text;version=1.0.0' };

let server: ConfiguredServer;
beforeAll(async () => {
  server = await serveConfigured();
  await server.load();
}, startMs);
afterAll(() => server.close());

test('docs/metrics.md is up to date; its head names the command that regenerates it', () => {
  expect(writtenPage()).toBe(pageOf(server.metrics));
});

test('docs/metrics.md has every metric that the source declares, so the server of this test enables all features', () => {
  const folder = path.resolve(import.meta.dirname, '..', '..', '..');
  const sources = fs
    .globSync('*/src/**/*.ts', { cwd: folder })
    .filter((file) => !file.endsWith('.test.ts') && !file.startsWith('test'))
    .map((file) => fs.readFileSync(path.join(folder, file), 'utf8'));
  const declarations = /\b(?:counter|gauge|histogram|readAtScrape)(?:<[^(]*>)?\(\s*(?:'\w+',\s*)?\{\s*name: '(\w+)'/g;
  const names = sources.flatMap((source) => Array.from(source.matchAll(declarations), ([, name = '']) => name));
  expect(names.length).toBeGreaterThan(60);
  const page = writtenPage();
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test.each(['/metrics', '/metrics/slis'] as const)('%s has exactly the declared metrics', async (path) => {
  const { text } = await server.scrape(path);
  const names = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name = '']) => name).sort();
  expect(names).toEqual(server.metrics[path].map(({ name }) => name).sort());
});

test.each([
  [undefined, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores'],
  ['*/*', 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores'],
  ['application/json', 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores'],
  [
    'text/plain;version=0.0.4,application/openmetrics-text;q=0.5',
    'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
  ],
  // The Accept header of Prometheus.
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores',
  ],
  [
    'application/openmetrics-text;version=9.0.0,text/plain;q=0.5',
    'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
  ],
])('Accept: %s gets %s', async (accept, contentType) => {
  expect((await server.scrape('/metrics', { ...(accept && { accept }) })).contentType).toBe(contentType);
});

test('OpenMetrics has the same samples, complete, and the end marker', async () => {
  const namesIn = (text: string): string[] =>
    [...new Set(Array.from(text.matchAll(/^(\w+)[{ ]/gm), ([, name = '']) => name))].sort();
  // The first garbage collection adds samples; it must not fall between the two scrapes.
  const text = await until('a garbage collection', async () => {
    const scraped = await server.scrape();
    return scraped.text.includes('nodejs_gc_duration_seconds_count') ? scraped.text : undefined;
  });
  const open = await server.scrape('/metrics', openMetrics);
  expect(open.text.endsWith('\n# EOF\n')).toBe(true);
  expect(namesIn(open.text)).toEqual(namesIn(text));
});

test('a sampled request is an exemplar in OpenMetrics, and not in the text format', async () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  await server.scrape('/version', { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
  await server.scrape('/version', { traceparent: `00-${'5'.repeat(32)}-00f067aa0ba902b7-00` });
  const { text } = await server.scrape('/metrics', openMetrics);
  expect(text).toMatch(new RegExp(`# \\{trace_id="${traceId}",span_id="[0-9a-f]{16}"\\}`));
  expect(text).not.toContain('5'.repeat(32));
  expect((await server.scrape()).text).not.toContain(' # {');
});

test('a scrape is compressed if the client accepts it', async () => {
  const { text } = await server.scrape('/metrics', { 'accept-encoding': 'gzip' });
  expect(Buffer.from(text, 'latin1').subarray(0, 1)).toEqual(Buffer.from([0x1f]));
});

const promtool = process.env.PROMTOOL_BIN;
describeIf(promtool !== undefined, 'promtool', 'there is no promtool', () => {
  const complaints = (text: string): readonly string[] => lint(promtool ?? '', text);
  const about = new RegExp(`^(${nonconformingNames.map(({ name }) => name).join('|')}) `);

  test('accepts a scrape except for names of upstream', async () => {
    for (const path of ['/metrics', '/metrics/slis'])
      expect(complaints((await server.scrape(path)).text).filter((line) => !about.test(line))).toEqual([]);
  });

  test('rejects exactly these names', () => {
    const found = complaints(exampleOf([...server.metrics['/metrics'], ...server.metrics['/metrics/slis']]));
    expect([...new Set(found.map((line) => line.slice(0, line.indexOf(' '))))].sort()).toEqual(
      nonconformingNames.map(({ name }) => name).sort(),
    );
  });
});
