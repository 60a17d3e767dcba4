import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadTracingConfiguration } from './index.ts';

const load = (fields: object, apiVersion = 'apiserver.config.platform.io/v1') =>
  loadTracingConfiguration(JSON.stringify({ apiVersion, kind: 'TracingConfiguration', ...fields }));

test('all fields are optional', () => {
  expect(load({})).toEqual({
    endpoint: { type: 'tcp', address: 'localhost:4317' },
    samplingRatePerMillion: undefined,
  });
});

test.each<[string, object]>([
  ['inline', { endpoint: 'collector:4317', samplingRatePerMillion: 100 }],
  ['nested', { TracingConfiguration: { endpoint: 'collector:4317', samplingRatePerMillion: 100 } }],
])('the fields are written %s', (_, fields) => {
  expect(load(fields)).toEqual({
    endpoint: { type: 'tcp', address: 'collector:4317' },
    samplingRatePerMillion: 100,
  });
});

test.each(['v1', 'v1beta1', 'v1alpha1'])('reads files for kube-apiserver of version %s', (version) => {
  expect(load({ samplingRatePerMillion: 0 }, `apiserver.config.k8s.io/${version}`).samplingRatePerMillion).toBe(0);
});

test.each<[string, object]>([
  ['10.0.0.1:4317', { type: 'tcp', address: '10.0.0.1:4317' }],
  ['[::1]:4317', { type: 'tcp', address: '[::1]:4317' }],
  ['dns:///collector:4317', { type: 'tcp', address: 'collector:4317' }],
  ['unix:///run/otel.sock', { type: 'unix', path: '/run/otel.sock' }],
  ['unix-abstract:///otel', { type: 'unix-abstract', path: '/otel' }],
  ['collector', { type: 'tcp', address: 'collector' }],
  ['::1', { type: 'tcp', address: '::1' }],
  ['dns:collector:4317', { type: 'tcp', address: 'collector:4317' }],
  ['dns:collector', { type: 'tcp', address: 'collector' }],
  ['dns:4317:4317', { type: 'tcp', address: '4317:4317' }],
  ['dns://10.0.0.10:53/collector:4317', { type: 'tcp', address: 'dns://10.0.0.10:53/collector:4317' }],
  ['ipv4:10.0.0.1:4317', { type: 'tcp', address: 'ipv4:10.0.0.1:4317' }],
  ['ipv4:10.0.0.1:4317,10.0.0.2:4317', { type: 'tcp', address: 'ipv4:10.0.0.1:4317,10.0.0.2:4317' }],
  ['ipv6:[::1]:4317', { type: 'tcp', address: 'ipv6:[::1]:4317' }],
  ['unix:run/otel.sock', { type: 'unix', path: 'run/otel.sock' }],
  ['unix:/run/otel.sock', { type: 'unix', path: '/run/otel.sock' }],
  ['unix-abstract:otel', { type: 'unix-abstract', path: 'otel' }],
])('the endpoint %s', (endpoint, expected) => {
  expect(load({ endpoint }).endpoint).toEqual(expected);
});

describe('rejects a file with', () => {
  test.each<[string, object, string]>([
    ['a rate below nothing', { samplingRatePerMillion: -1 }, 'samplingRatePerMillion: Invalid value: -1'],
    ['a rate above everything', { samplingRatePerMillion: 1_000_001 }, 'expected a number from 0 to 1000000'],
    ['a rate that is no number', { samplingRatePerMillion: 'all' }, 'samplingRatePerMillion: expected a whole number'],
    ['http', { endpoint: 'http://u:hush@collector:4317' }, 'endpoint: unsupported scheme "http"'],
    ['an empty endpoint', { endpoint: '' }, 'endpoint: expected a host and a port'],
    ['a port alone', { endpoint: ':4317' }, 'endpoint: expected a host and a port'],
    ['a port of letters', { endpoint: 'collector:otlp' }, 'endpoint: expected a host and a port'],
    ['an address that is none', { endpoint: '[::zz]:4317' }, 'endpoint: expected a host and a port'],
    ['no host', { endpoint: 'dns:///' }, 'endpoint: expected a host and a port'],
    ['dns and nothing', { endpoint: 'dns:' }, 'endpoint: expected a host and a port'],
    ['a name for an address', { endpoint: 'ipv4:collector:4317' }, 'endpoint: Invalid value'],
    ['the other version', { endpoint: 'ipv4:[::1]:4317' }, 'endpoint: Invalid value'],
    ['an address without a port', { endpoint: 'ipv6:[::1]' }, 'endpoint: Invalid value'],
    ['no path', { endpoint: 'unix:' }, 'endpoint: '],
    ['no path behind slashes', { endpoint: 'unix:///' }, 'endpoint: Invalid value'],
    ['a zero', { endpoint: 'unix:a\0b' }, 'endpoint: Invalid value'],
    ['blanks', { endpoint: 'a b:1' }, 'endpoint: expected a host and a port'],
    ['a port that is none', { endpoint: 'collector:70000' }, 'endpoint: expected a host and a port'],
    ['a path behind the port', { endpoint: 'collector:4317/v1' }, 'endpoint: expected a host and a port'],
    ['a DNS server', { endpoint: 'dns://collector:4317' }, 'endpoint: expected a host and a port'],
    ['a socket without a path', { endpoint: 'unix://otel.sock' }, 'endpoint: Invalid value'],
    ['an unknown field', { endpoints: [] }, 'unknown field "endpoints"'],
    ['an unknown nested field', { TracingConfiguration: { rate: 1 } }, 'TracingConfiguration: unknown field "rate"'],
    [
      'the same said twice',
      { endpoint: 'a:1', TracingConfiguration: {} },
      'endpoint: must not be set beside TracingConfiguration',
    ],
  ])('%s', (_, fields, problem) => {
    const read = (): unknown => load(fields);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(problem);
    expect(read).not.toThrow('hush');
  });

  test('several problems, all reported', () => {
    const problems = (): unknown =>
      load({ TracingConfiguration: { endpoint: 'https://a', samplingRatePerMillion: -1, more: 1 } });
    expect(problems).toThrow(
      [
        'TracingConfiguration: unknown field "more"',
        'TracingConfiguration.endpoint: unsupported scheme "https": expected none, dns, ipv4, ipv6, unix or unix-abstract; there is no TLS',
        'TracingConfiguration.samplingRatePerMillion: Invalid value: -1: expected a number from 0 to 1000000',
      ].join('\n'),
    );
  });
});
