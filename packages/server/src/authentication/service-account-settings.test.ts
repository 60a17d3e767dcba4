import { describe, expect, test } from '@jest/globals';
import { FlagError, readSettings } from '../flags/flag.ts';
import { parseFlags } from '../flags/flags.ts';
import { isDiscoverable, serviceAccountSettingsOf } from './service-account-settings.ts';

const read = (...args: string[]) => readSettings(serviceAccountSettingsOf, parseFlags(args.map((arg) => `--${arg}`)));
const both = ['service-account-issuer=https://a.example', 'service-account-signing-key-file=key'] as const;

test('without an issuer, service account tokens are disabled', () => {
  expect(read()).toBeUndefined();
});

test('the first issuer signs, and the audiences default to all issuers', () => {
  const issuers = ['https://a.example', 'before'];
  expect(read(...both, 'service-account-issuer=before')).toEqual({
    issuers,
    audiences: issuers,
    lifetimeSecondsMax: undefined,
    signingKey: { flag: 'service-account-signing-key-file', path: 'key' },
    otherKeys: [],
    keySetUri: '',
  });
  expect(
    read(
      ...both,
      'api-audiences=us,them',
      'service-account-key-file=one',
      'service-account-key-file=two',
      'service-account-max-token-expiration=1h',
    ),
  ).toMatchObject({
    audiences: ['us', 'them'],
    otherKeys: [{ path: 'one' }, { path: 'two' }],
    lifetimeSecondsMax: 3600,
  });
});

describe('invalid combinations are reported', () => {
  const together = '--service-account-issuer and --service-account-signing-key-file go together';
  test.each([
    [['service-account-issuer=a'], together],
    [['service-account-signing-key-file=a'], together],
    [['service-account-key-file=a'], '--service-account-key-file means nothing without --service-account-issuer'],
    [['service-account-max-token-expiration=2h'], 'means nothing without'],
    [['service-account-jwks-uri=https://a'], 'means nothing without'],
    [[...both, both[0]], '"https://a.example" stands there twice'],
    [[...both, 'service-account-issuer=://x'], '"://x" has a colon and is no URL'],
    [[...both, 'service-account-max-token-expiration=59m'], 'must be from 1h to 2^32 seconds'],
    [[...both, 'service-account-max-token-expiration=1193047h'], 'must be from 1h to 2^32 seconds'],
    [[...both, 'service-account-jwks-uri=http://a'], '"http://a" is no https URL'],
    [[...both, 'service-account-jwks-uri=keys'], '"keys" is no https URL'],
  ])('%j', (args, message) => {
    expect(() => read(...args)).toThrow(FlagError);
    expect(() => read(...args)).toThrow(message);
  });

  test('reports all problems at once', () => {
    const all = (): unknown =>
      read('service-account-issuer=a', 'service-account-issuer=a', 'service-account-jwks-uri=b');
    expect(all).toThrow(/go together\n.*twice\n.*no https URL$/);
  });
});

test.each([
  ['https://a.example', true],
  ['https://a.example/clusters/1', true],
  ['http://a.example', false],
  ['https://a.example/?x', false],
  ['https://a.example/#x', false],
  ['https://me@a.example', false],
  ['cluster', false],
])('the keys of %s are discoverable: %j', (issuer, discoverable) => {
  expect(isDiscoverable(issuer)).toBe(discoverable);
});
