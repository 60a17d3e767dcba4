import { describe, expect, test } from '@jest/globals';
import { type AuthenticationConfiguration, ConfigurationError, loadAuthenticationConfiguration } from './index.ts';

const flags = {
  disallowedIssuers: ['https://cluster.example.com'],
  anonymousAuthGiven: false,
  egressSelectors: [],
};
const issuer = { url: 'https://issuer.example.com', audiences: ['cluster'] };
const claimMappings = { username: { claim: 'sub', prefix: '' } };
const good = {
  apiVersion: 'apiserver.config.platform.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [{ issuer, claimMappings }],
};

const load = (file: object, given = flags): AuthenticationConfiguration =>
  loadAuthenticationConfiguration(JSON.stringify(file), given);
const withJwt = (...jwt: object[]): object => ({
  ...good,
  jwt: jwt.map((part) => ({ issuer, claimMappings, ...part })),
});
const withIssuer = (part: object): object => withJwt({ issuer: { ...issuer, ...part } });
const withMappings = (part: object): object => withJwt({ claimMappings: { ...claimMappings, ...part } });
const withExtra = (...extra: object[]): object => withMappings({ extra });
const withClaimRules = (...claimValidationRules: object[]): object => withJwt({ claimValidationRules });

function problemsOf(act: () => unknown): readonly string[] {
  try {
    act();
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

test('reads a complete configuration from YAML', () => {
  const { jwt, anonymous } = loadAuthenticationConfiguration(
    `
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
  - issuer:
      url: https://issuer.example.com
      discoveryURL: https://keys.example.com/.well-known/openid-configuration
      audiences: [a, b]
      audienceMatchPolicy: MatchAny
    claimValidationRules:
      - claim: hd
        requiredValue: example.com
      - expression: claims.exp - claims.nbf <= 86400.0
        message: no more than a day
    claimMappings:
      username: { expression: "'a:' + claims.sub" }
      groups: { claim: groups, prefix: 'g:' }
      uid: { claim: sub }
      extra: [{ key: example.com/tenant, valueExpression: claims.tenant }]
    userValidationRules:
      - expression: "!user.username.startsWith('system:')"
        message: reserved prefix
anonymous: { enabled: true, conditions: [{ path: /livez }] }
`,
    flags,
  );
  expect(anonymous).toEqual({ enabled: true, paths: ['/livez'] });
  expect(jwt).toMatchObject([
    {
      issuer: { audiences: ['a', 'b'], discoveryUrl: 'https://keys.example.com/.well-known/openid-configuration' },
      claimRules: [
        { by: 'claim', claim: 'hd', requiredValue: 'example.com' },
        { by: 'expression', message: 'no more than a day' },
      ],
      claimMappings: {
        username: { from: 'expression', expression: { text: "'a:' + claims.sub" } },
        groups: { from: 'claim', claim: 'groups', prefix: 'g:' },
        uid: { from: 'claim', claim: 'sub' },
        extra: [{ key: 'example.com/tenant' }],
      },
      userRules: [{ message: 'reserved prefix' }],
    },
  ]);
});

test.each([
  ['nothing but its kind', { apiVersion: good.apiVersion, kind: good.kind }],
  ['JSON null where nothing is meant', { ...good, anonymous: null }],
  ['the name that the reference has', { ...good, apiVersion: 'apiserver.config.k8s.io/v1' }],
  ['one audience and MatchAny', withIssuer({ audienceMatchPolicy: 'MatchAny' })],
  [
    'an email whose verification a rule looks at',
    withJwt({
      claimMappings: { username: { expression: 'claims.email' } },
      claimValidationRules: [{ expression: 'claims.email_verified == true' }],
    }),
  ],
  [
    'an email whose verification an extra looks at',
    withMappings({
      username: { expression: 'claims.email' },
      extra: [{ key: 'a.io/v', valueExpression: 'string(claims.email_verified)' }],
    }),
  ],
  ['groups that may be absent', withMappings({ groups: { expression: 'claims.?groups.orValue([])' } })],
])('accepts a file with %s', (_, file) => {
  expect(problemsOf(() => load(file))).toEqual([]);
});

describe('rejects a file that', () => {
  test.each([
    ['has a field that is none', { ...good, foo: 1 }, 'unknown field "foo"'],
    ['has one deep inside', withIssuer({ foo: 1 }), 'jwt[0].issuer: unknown field "foo"'],
    ['has another kind', { ...good, kind: 'EncryptionConfiguration' }, 'kind: expected AuthenticationConfiguration'],
    [
      'has a version that is none',
      { ...good, apiVersion: 'apiserver.config.k8s.io/v9' },
      /^apiVersion: expected apiserver.config.platform.io.v1 or /,
    ],
    ['has a text where a list belongs', { ...good, jwt: 'x' }, 'jwt: expected a list, got a string'],
    [
      'has a number for a message',
      withJwt({ userValidationRules: [{ expression: 'true', message: 1 }] }),
      'jwt[0].userValidationRules[0].message: expected a string, got a number',
    ],
    ['has no issuer', withIssuer({ url: undefined }), 'jwt[0].issuer.url: Required value: URL is required'],
    [
      'has an issuer without TLS',
      withIssuer({ url: 'http://iss' }),
      'jwt[0].issuer.url: Invalid value: "http://iss": URL scheme must be https',
    ],
    [
      'has an issuer with a password',
      withIssuer({ url: 'https://a:hush@iss' }),
      'jwt[0].issuer.url: Invalid value: "<omitted>": URL must not contain a username or password',
    ],
    [
      'has an issuer with a query',
      withIssuer({ url: 'https://iss?a=b' }),
      'jwt[0].issuer.url: Invalid value: "https://iss?a=b": URL must not contain a query',
    ],
    [
      'has an issuer with a fragment',
      withIssuer({ url: 'https://iss#a' }),
      'jwt[0].issuer.url: Invalid value: "https://iss#a": URL must not contain a fragment',
    ],
    ['has an issuer twice', withJwt({}, {}), 'jwt[1].issuer.url: Duplicate value: "https://issuer.example.com"'],
    [
      'has the server’s own issuer',
      withIssuer({ url: 'https://cluster.example.com' }),
      /URL must not overlap with disallowed issuers/,
    ],
    [
      'discovers where the issuer is',
      withIssuer({ discoveryURL: 'https://issuer.example.com/' }),
      /discoveryURL must be different from URL/,
    ],
    [
      'discovers twice at one place',
      withJwt(
        ...['a', 'b'].map((host) => ({ issuer: { ...issuer, url: `https://${host}`, discoveryURL: 'https://c' } })),
      ),
      'jwt[1].issuer.discoveryURL: Duplicate value: "https://c"',
    ],
    [
      'has a certificate that is none',
      withIssuer({ certificateAuthority: 'hush' }),
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid certificates in PEM',
    ],
    [
      'has no audience',
      withIssuer({ audiences: [] }),
      'jwt[0].issuer.audiences: Required value: at least one audience is required',
    ],
    [
      'has an audience twice',
      withIssuer({ audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' }),
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
    ],
    [
      'has two audiences and no policy',
      withIssuer({ audiences: ['a', 'b'] }),
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
    [
      'has a policy that is none',
      withIssuer({ audienceMatchPolicy: 'Foo' }),
      'jwt[0].issuer.audienceMatchPolicy: Unsupported value: "Foo": supported values: "MatchAny"',
    ],
    [
      'has an egress selector that is none',
      withIssuer({ egressSelectorType: 'foo' }),
      'jwt[0].issuer.egressSelectorType: Unsupported value: "foo": supported values: "controlplane", "cluster"',
    ],
    [
      'selects an egress that nothing describes',
      withIssuer({ egressSelectorType: 'cluster' }),
      /needs the flag --egress-selector-config-file/,
    ],
    [
      'has no username',
      withJwt({ claimMappings: {} }),
      'jwt[0].claimMappings.username: Required value: claim or expression is required',
    ],
    [
      'has a claim and no prefix',
      withMappings({ username: { claim: 'sub' } }),
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ],
    [
      'has a claim and an expression',
      withMappings({ username: { claim: 'sub', prefix: '', expression: 'claims.sub' } }),
      /claim and expression can't both be set/,
    ],
    [
      'has a prefix and an expression',
      withMappings({ groups: { prefix: '', expression: 'claims.groups' } }),
      /^jwt\[0\]\.claimMappings\.groups\.prefix: /,
    ],
    ['has a prefix of nothing', withMappings({ groups: { prefix: 'a' } }), /prefix can only be set when claim is set/],
    [
      'has two uids',
      withMappings({ uid: { claim: 'sub', expression: 'claims.sub' } }),
      /^jwt\[0\]\.claimMappings\.uid: .*can't both be set/,
    ],
    [
      'accepts an unverified email',
      withMappings({ username: { expression: 'claims.email' } }),
      /^jwt\[0\]\.claimMappings\.username\.expression: .*claims\.email_verified must be used in/,
    ],
    [
      'has an expression that is none',
      withMappings({ username: { expression: 'claims.sub +' } }),
      /^jwt\[0\]\.claimMappings\.username\.expression: .*compilation failed: ERROR: <input>:1:13: Syntax error/,
    ],
    [
      'has a username that is no text',
      withMappings({ username: { expression: '1 + 1' } }),
      /must evaluate to a string, and this is of type int/,
    ],
    [
      'has groups that are numbers',
      withMappings({ groups: { expression: '[1]' } }),
      /must evaluate to a string or a list of strings/,
    ],
    [
      'has a key without domain',
      withExtra({ key: 'nodomain', valueExpression: 'claims.a' }),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "nodomain": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'has a key with capitals',
      withExtra({ key: 'foo.io/Bar', valueExpression: 'claims.a' }),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "foo.io/Bar": must be lowercase',
    ],
    [
      'has a key that no path has',
      withExtra({ key: 'foo.io/a b', valueExpression: 'claims.a' }),
      /Invalid value: "a b": Invalid path/,
    ],
    [
      'has a key of ours',
      withExtra({ key: 'auth.k8s.io/a', valueExpression: 'claims.a' }),
      /and their subdomains are reserved/,
    ],
    [
      'has a key twice',
      withExtra(...['a', 'b'].map((claim) => ({ key: 'a.io/a', valueExpression: `claims.${claim}` }))),
      'jwt[0].claimMappings.extra[1].key: Duplicate value: "a.io/a"',
    ],
    [
      'has a key and no value',
      withExtra({ key: 'a.io/a' }),
      'jwt[0].claimMappings.extra[0].valueExpression: Required value',
    ],
    [
      'has a rule of nothing',
      withClaimRules({}),
      'jwt[0].claimValidationRules[0]: Required value: claim or expression is required',
    ],
    [
      'has a rule of both kinds',
      withClaimRules({ claim: 'a', expression: 'true' }),
      /^jwt\[0\]\.claimValidationRules\[0\]: Invalid value: "a": claim and expression can't both be set/,
    ],
    [
      'has a message for a claim',
      withClaimRules({ claim: 'a', message: 'm' }),
      'jwt[0].claimValidationRules[0].message: Invalid value: "m": may not be specified when claim is set',
    ],
    [
      'has a value for an expression',
      withClaimRules({ expression: 'true', requiredValue: 'v' }),
      /requiredValue: Invalid value: "v"/,
    ],
    [
      'has a rule twice',
      withClaimRules({ claim: 'a' }, { claim: 'a' }),
      'jwt[0].claimValidationRules[1].claim: Duplicate value: "a"',
    ],
    [
      'has a rule that is no bool',
      withClaimRules({ expression: 'claims.a' }),
      /must evaluate to bool, and this is of type dyn/,
    ],
    [
      'has a rule about nothing known',
      withClaimRules({ expression: 'claim.a == 1' }),
      /undeclared reference to 'claim'/,
    ],
    [
      'asks a user for what it has not',
      withJwt({ userValidationRules: [{ expression: 'user.foo == 1' }] }),
      /^jwt\[0\]\.userValidationRules\[0\]\.expression: .*1:5: undefined field 'foo'/,
    ],
    [
      'has a rule about users that is empty',
      withJwt({ userValidationRules: [{ message: 'm' }] }),
      'jwt[0].userValidationRules[0].expression: Required value',
    ],
    [
      'has conditions for what is off',
      { ...good, anonymous: { enabled: false, conditions: [{ path: '/healthz' }] } },
      /^anonymous\.conditions: .*enabled should be set to true when conditions are defined/,
    ],
    [
      'has a condition without a path',
      { ...good, anonymous: { enabled: true, conditions: [{}] } },
      'anonymous.conditions[0].path: Required value',
    ],
  ])('%s', (_, file, problem) => {
    const problems = problemsOf(() => load(file));
    expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
    expect(problems.join()).not.toContain('hush');
  });

  test('has a URL with a password and other problems: reports all of them without the URL', () => {
    const url = 'http://a:hush@iss?b=hush#hush';
    const expected = [
      'scheme must be https',
      'not contain a username',
      'not contain a query',
      'not contain a fragment',
    ];
    for (const part of [{ url }, { discoveryURL: url }]) {
      const problems = problemsOf(() => load(withIssuer(part)));
      expect(problems).toEqual(expected.map((problem) => expect.stringContaining(problem)));
      expect(problems.join()).not.toContain('hush');
    }
  });

  test('configures anonymous requests although --anonymous-auth is set', () => {
    expect(
      problemsOf(() => load({ ...good, anonymous: { enabled: true } }, { ...flags, anonymousAuthGiven: true })),
    ).toEqual([
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    ]);
  });

  test('has more issuers than the maximum', () => {
    const many = Array.from({ length: 65 }, (_, index) => ({
      issuer: { ...issuer, url: `https://${index}.example.com` },
    }));
    expect(problemsOf(() => load(withJwt(...many)))).toEqual(['jwt: Too many: 65: must have at most 64 items']);
  });

  test.each([
    ['is empty', ''],
    ['holds a remark only', '# nothing'],
    ['is no YAML', 'a: [b'],
    ['says a thing twice', `${JSON.stringify(good).slice(0, -1)},"jwt":[]}`],
  ])('%s', (_, text) => {
    expect(problemsOf(() => loadAuthenticationConfiguration(text, flags))).toHaveLength(1);
  });
});

test('reports all problems at once', () => {
  const file = {
    ...withJwt({ issuer: { url: 'http://iss', audiences: [] }, claimMappings: { username: { claim: 'sub' } } }),
    kind: 'X',
    foo: 1,
  };
  expect(problemsOf(() => load(file)).map((problem) => problem.split(':', 1)[0])).toEqual([
    'unknown field "foo"',
    'kind',
    'jwt[0].issuer.url',
    'jwt[0].issuer.audiences',
    'jwt[0].claimMappings.username.prefix',
  ]);
});
