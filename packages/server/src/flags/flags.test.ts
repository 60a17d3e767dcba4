import { expect, test } from '@jest/globals';
import { FlagError, flagHelp, parseFlags } from './flags.ts';

test('without arguments all flags have their defaults', () => {
  expect(parseFlags([])).toMatchObject({
    'secure-port': 6443,
    'event-ttl': 3_600_000,
    'etcd-prefix': '/registry',
    controllers: ['*'],
    help: false,
  });
});

test('values are parsed in both forms, and the last one wins', () => {
  const flags = parseFlags([
    '--secure-port',
    '1',
    '--secure-port=7443',
    '--etcd-servers=http://a:1,http://b:2',
    '--feature-gates',
    'A=true,B=false',
    '--event-ttl=1h30m',
    '--controllers=-garbage-collector',
    '--help',
  ]);
  expect(flags['secure-port']).toBe(7443);
  expect(flags['etcd-servers']).toEqual(['http://a:1', 'http://b:2']);
  expect([...flags['feature-gates']]).toEqual([
    ['A', 'true'],
    ['B', 'false'],
  ]);
  expect(flags['event-ttl']).toBe(5_400_000);
  expect(flags.controllers).toEqual(['-garbage-collector']);
  expect(flags.help).toBe(true);
});

test('repeated lists and pairs are concatenated', () => {
  const flags = parseFlags([
    '--etcd-servers=http://a:1',
    '--etcd-servers=http://b:2,http://c:3',
    '--feature-gates=A=true',
    '--feature-gates=B=false,A=false',
    '--oidc-required-claim=hd=a,b=c',
    '--oidc-required-claim=tenant=',
  ]);
  expect(flags['etcd-servers']).toEqual(['http://a:1', 'http://b:2', 'http://c:3']);
  expect([...flags['feature-gates']]).toEqual([
    ['A', 'false'],
    ['B', 'false'],
  ]);
  expect([...flags['oidc-required-claim']]).toEqual([
    ['hd', 'a,b=c'],
    ['tenant', ''],
  ]);
  expect(() => parseFlags(['--oidc-required-claim=hd'])).toThrow('"hd" is not a pair such as name=value');
});

test.each([
  [[], 'unset'],
  [['--anonymous-auth'], true],
  [['--anonymous-auth=false'], false],
])('an optional switch can be unset: %j', (args, value) => {
  expect(parseFlags(args)['anonymous-auth']).toBe(value);
});

test('all problems are reported at once, with the nearest known name', () => {
  const read = (): unknown =>
    parseFlags([
      '--secure-prot=1',
      '--secure-port=99999',
      '--event-ttl=soon',
      'stray',
      '--logging-format=xml',
      '--etcd-prefix',
    ]);
  expect(read).toThrow(FlagError);
  expect(read).toThrow(
    [
      'unknown flag: --secure-prot; did you mean --secure-port?',
      'unexpected argument: stray',
      '--etcd-prefix needs a value',
      '--event-ttl: "soon" is not a duration such as 30s, 5m or 1h30m, from 0s to 2500000h0m0s',
      '--secure-port: "99999" is not a whole number from 0 to 65535',
      '--logging-format: "xml" is not one of text, json',
    ].join('\n'),
  );
});

test.each([
  ['event-ttl', '2562047h', ['0', '2500000h']],
  ['etcd-election-timeout', '0', ['10ms', '50s']],
  ['etcd-election-timeout', '51s', ['10ms', '50s']],
])('a duration out of bounds is rejected: --%s=%s', (name, refused, accepted) => {
  expect(() => parseFlags([`--${name}=${refused}`])).toThrow(`--${name}: "${refused}" is not a duration`);
  for (const value of accepted) expect(() => parseFlags([`--${name}=${value}`])).not.toThrow();
});

test('names of Object.prototype are not flags', () => {
  expect(() => parseFlags(['--constructor=1'])).toThrow('unknown flag: --constructor');
});

test('the help is as it was', () => {
  expect(flagHelp()).toMatchSnapshot();
});
