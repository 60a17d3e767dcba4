import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, loadEgressSelectorConfiguration } from './index.ts';

const load = (...egressSelections: object[]) =>
  loadEgressSelectorConfiguration(
    JSON.stringify({ apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration', egressSelections }),
  );
const through = (transport: object | undefined, name = 'cluster') => ({
  name,
  connection: { proxyProtocol: 'HTTPConnect', transport },
});
const tlsConfig = { caBundle: 'ca.crt', clientCert: 'tls.crt', clientKey: 'tls.key' };

test('each network is reached directly, through a socket or through a proxy', () => {
  expect(
    load({ name: 'controlplane', connection: { proxyProtocol: 'Direct' } }, through({ uds: { udsName: '/run/p' } })),
  ).toEqual(
    new Map<string, unknown>([
      ['controlplane', undefined],
      ['cluster', { socket: '/run/p' }],
    ]),
  );
  expect(load(through({ tcp: { url: 'http://p:1' } })).get('cluster')).toEqual({
    url: new URL('http://p:1'),
    tls: undefined,
  });
  expect(load(through({ tcp: { url: 'https://p:1', tlsConfig } })).get('cluster')).toEqual({
    url: new URL('https://p:1'),
    tls: { ...tlsConfig, path: ['egressSelections', 0, 'connection', 'transport', 'tcp', 'tlsConfig'] },
  });
});

describe('rejects a file with', () => {
  test.each<[string, object, string]>([
    [
      'a direction that is none',
      through({ uds: { udsName: '/p' } }, 'etcd'),
      'egressSelections[0].name: Invalid value',
    ],
    [
      'an unknown protocol',
      { name: 'cluster', connection: { proxyProtocol: 'GRPC' } },
      'egressSelections[0].connection.proxyProtocol: Unsupported value: "GRPC": supported values: "Direct", "HTTPConnect"',
    ],
    [
      'a way for what goes directly',
      { name: 'cluster', connection: { proxyProtocol: 'Direct', transport: {} } },
      'egressSelections[0].connection.transport: must not be set for Direct',
    ],
    ['no way', through(undefined), 'egressSelections[0].connection.transport: set either tcp or uds for HTTPConnect'],
    [
      'two ways',
      through({ tcp: { url: 'http://p:1' }, uds: { udsName: '/p' } }),
      'egressSelections[0].connection.transport: set either tcp or uds for HTTPConnect',
    ],
    [
      'a socket somewhere',
      through({ uds: { udsName: 'p' } }),
      'egressSelections[0].connection.transport.uds.udsName: Invalid value: "p": expected the absolute path',
    ],
    [
      'a password',
      through({ tcp: { url: 'http://u:hush@p:1' } }),
      'egressSelections[0].connection.transport.tcp.url: expected a URL such as https://proxy:8131',
    ],
    [
      'certificates without TLS',
      through({ tcp: { url: 'http://p:1', tlsConfig } }),
      'egressSelections[0].connection.transport.tcp.tlsConfig: must not be set for a URL with http',
    ],
    [
      'TLS without certificates',
      through({ tcp: { url: 'https://p:1' } }),
      'egressSelections[0].connection.transport.tcp.tlsConfig: Required value: it is needed for a URL with https',
    ],
    [
      'half a certificate',
      through({ tcp: { url: 'https://p:1', tlsConfig: { clientCert: 'tls.crt' } } }),
      'egressSelections[0].connection.transport.tcp.tlsConfig.clientKey: Required value: the name of a file',
    ],
  ])('%s', (_, selection, problem) => {
    const read = (): unknown => load(selection);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(problem);
    expect(read).not.toThrow('hush');
  });

  test('a duplicate network', () => {
    const selection = through({ uds: { udsName: '/p' } });
    expect(() => load(selection, selection)).toThrow('egressSelections[1].name: Duplicate value: "cluster"');
  });
});
