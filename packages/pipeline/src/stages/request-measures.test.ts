import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { defineKind } from '@cluster-apiserver/model/kind';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import type { ApiRequest } from '../exchange.ts';
import type { RequestInfo } from '../request-info.ts';
import type { FindServed } from './identify.ts';
import { createRequestMeasures, type MeasuredRequest } from './request-measures.ts';

type ResourceInfo = NonNullable<RequestInfo['resource']>;

const kind = (group: string, plural: string) =>
  defineKind({ group, version: 'v1', kind: plural, plural, singular: plural, description: '', fields: {} });
const served = [kind('', 'serviceaccounts'), kind('events.k8s.io', 'events')].flatMap(({ versions }) => versions);
const find: FindServed = ({ group, version, plural }) =>
  served.find((one) => one.group === group && one.version === version && one.plural === plural);

function open() {
  const metrics = createMetrics({ ofProcess: false });
  const measures = createRequestMeasures(metrics, { ...systemClock, now: () => 1_500 }, () => {});
  return {
    measures,
    series: async (name: string): Promise<string[]> =>
      (await exposed(metrics)).split('\n').filter((line) => line.startsWith(`${name}{`)),
    openMetrics: () => exposed(metrics, 'openmetrics'),
  };
}

const accounts: ResourceInfo = {
  group: '',
  version: 'v1',
  namespace: 'default',
  isInNamespace: true,
  plural: 'serviceaccounts',
  name: 'a',
  subresource: undefined,
  isWatchPath: false,
  hasExtraSegments: false,
};

function measured(
  verb: string,
  resource: Partial<ResourceInfo> | undefined,
  { method = 'GET', path = '', query = '', type = '', ...rest }: MeasuredOptions = {},
): MeasuredRequest {
  const request = { method, header: (name: string) => (name === 'content-type' ? type : undefined) };
  const info = { path, query: new URLSearchParams(query), verb, resource: resource && { ...accounts, ...resource } };
  return {
    request: request as ApiRequest, // nothing else of it is read
    info,
    served: info.resource && find(info.resource),
    code: 200,
    seconds: 0.1,
    ownSeconds: 0.1,
    bytes: 10,
    trace: undefined,
    ...rest,
  };
}

interface MeasuredOptions extends Partial<MeasuredRequest> {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
}

const list = { name: undefined };
const apply = 'application/apply-patch+yaml';

test.each([
  [measured('get', {}), 'GET', 'resource', ''],
  [measured('list', list), 'LIST', 'namespace', ''],
  [measured('list', { ...list, isInNamespace: false }), 'LIST', 'cluster', ''],
  [measured('watch', list), 'WATCH', 'namespace', ''],
  [measured('create', list), 'POST', 'resource', ''],
  [measured('update', {}), 'PUT', 'resource', ''],
  [measured('patch', {}, { type: 'application/merge-patch+json' }), 'PATCH', 'resource', ''],
  [measured('patch', {}, { type: apply }), 'APPLY', 'resource', ''],
  [measured('delete', {}, { query: 'dryRun=All' }), 'DELETE', 'resource', 'All'],
  [measured('deletecollection', list), 'DELETECOLLECTION', 'namespace', ''],
  [measured('get', {}, { query: 'dryRun=All' }), 'GET', 'resource', ''],
  [measured('', {}, { method: 'OPTIONS' }), 'OPTIONS', 'resource', ''],
])('requests have the labels of upstream (%#)', async (request, verb, scope, dryRun) => {
  const { measures, series } = open();
  // The second one is found by its words, and must be the same.
  measures.record(request);
  measures.record(request);
  const labels = `verb="${verb}",group="",version="v1",resource="serviceaccounts",subresource="",scope="${scope}",component="apiserver"`;
  expect(await series('apiserver_request_total')).toEqual([
    `apiserver_request_total{${labels},dry_run="${dryRun}",code="200"} 2`,
  ]);
  expect(await series('apiserver_request_sli_duration_seconds_count')).toEqual([
    `apiserver_request_sli_duration_seconds_count{${labels}} 2`,
  ]);
});

test.each([
  ['/livez/ping', '/livez'],
  ['/readyz', '/readyz'],
  ['/metrics/slis', '/metrics'],
  ['/livezilla', ''],
  ['/version', ''],
])('a request for %s counts as one for the document %j', async (path, subresource) => {
  const { measures, series } = open();
  measures.record(measured('get', undefined, { path }));
  expect(await series('apiserver_request_total')).toEqual([
    `apiserver_request_total{verb="GET",group="",version="",resource="",subresource="${subresource}",scope="",component="apiserver",dry_run="",code="200"} 1`,
  ]);
});

test('a thousand names from clients create few series', async () => {
  const { measures, series } = open();
  for (let index = 0; index < 1000; index++) {
    const word = `random-${index}`;
    measures.record(measured('get', { group: word }));
    measures.record(measured('get', { version: word }));
    measures.record(measured('get', { plural: word }));
    // Each word is known, and yet there is no such resource.
    measures.record(measured('get', { group: 'events.k8s.io', version: 'v1' }));
    measures.record(measured('get', { subresource: word }));
    measures.record(measured('get', undefined, { path: `/${word}` }));
    measures.record(measured(word, undefined, { method: word }));
    measures.record({ ...measured('', undefined, { method: word }), info: undefined });
  }
  expect((await series('apiserver_request_total')).sort()).toEqual(
    [
      'verb="GET",group="",version="",resource="",subresource=""',
      'verb="GET",group="",version="v1",resource="serviceaccounts",subresource="other"',
      'verb="GET",group="other",version="other",resource="other",subresource=""',
      'verb="other",group="",version="",resource="",subresource=""',
    ].map((labels) => expect.stringContaining(labels)),
  );
});

test('time in webhooks is part of the duration but not of the SLI duration', async () => {
  const { measures, series } = open();
  measures.record(measured('create', list, { seconds: 3, ownSeconds: 0.5 }));
  expect(await series('apiserver_request_duration_seconds_sum')).toEqual([expect.stringMatching(/ 3$/)]);
  expect(await series('apiserver_request_sli_duration_seconds_sum')).toEqual([expect.stringMatching(/ 0\.5$/)]);
});

test('response sizes are measured for GET and LIST, not for streams', async () => {
  const { measures, series } = open();
  measures.record(measured('create', list));
  measures.record(measured('watch', list, { bytes: undefined }));
  expect(await series('apiserver_response_sizes_count')).toEqual([]);
  measures.record(measured('list', list, { bytes: 5_000 }));
  expect(await series('apiserver_response_sizes_sum')).toEqual([expect.stringMatching(/verb="LIST".* 5000$/)]);
});

test('a traced request becomes the exemplar of its bucket', async () => {
  const { measures, openMetrics } = open();
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  measures.record(measured('get', {}, { trace }));
  const exemplars = (await openMetrics()).split('\n').filter((line) => line.includes(' # '));
  expect(exemplars).toHaveLength(2);
  for (const line of exemplars)
    expect(line).toMatch(/le="0\.1".* 1 # \{trace_id="a{32}",span_id="b{16}"\} 0\.1 1\.500$/);
});
