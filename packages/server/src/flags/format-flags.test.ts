import { expect, test } from '@jest/globals';
import { parseFlags } from './flags.ts';
import { formatFlags } from './format-flags.ts';

test('flags are shown in command-line syntax', () => {
  const texts = formatFlags(
    parseFlags([
      '--event-ttl=90m',
      '--etcd-servers=https://a:2379,https://b:2379',
      '--feature-gates=A=true,B=false',
      '--goaway-chance=0.001',
      '--encryption-provider-config-automatic-reload',
    ]),
  );
  expect(texts).toMatchObject({
    'event-ttl': '1h30m0s',
    'etcd-servers': 'https://a:2379,https://b:2379',
    'feature-gates': 'A=true,B=false',
    'goaway-chance': '0.001',
    'encryption-provider-config-automatic-reload': 'true',
    'request-timeout': '1m0s',
    'secure-port': '6443',
    'anonymous-auth': '',
    'client-ca-file': '',
  });
});

test('each shown value can be parsed again', () => {
  const flags = parseFlags(['--event-ttl=1500ms', '--oidc-required-claim=a=b', '--anonymous-auth=false']);
  const args = Object.entries(formatFlags(flags)).map(([name, text]) => `--${name}=${text}`);
  expect(parseFlags(args)).toEqual(flags);
});

test('passwords in URLs are not shown', () => {
  expect(formatFlags(parseFlags(['--etcd-servers=https://joe:hush@a:2379']))['etcd-servers']).toBe(
    'https://joe:xxxxx@a:2379',
  );
});
