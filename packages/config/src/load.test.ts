import { expect, test } from '@jest/globals';
import { ConfigurationError, loadAuthenticationConfiguration, loadEncryptionConfiguration } from './index.ts';

const flags = { disallowedIssuers: [], anonymousAuthGiven: false, egressSelectors: [] };

function problemsOf(text: string): ConfigurationError['problems'] {
  try {
    loadAuthenticationConfiguration(text, flags);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}

test('rejects a file of another kind and of maximum size with all its problems', () => {
  const fields = 30_000;
  const text = `kind: ConfigMap\n${Array.from({ length: fields }, (_, index) => `key${index}: x\n`).join('')}`;
  const problems = problemsOf(text);
  expect(problems).toHaveLength(fields + 2);
  expect(problems[fields - 1]).toMatchObject({ place: { line: fields + 1, column: 1 } });
});

test('JSON may have as many values as YAML', () => {
  const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
  const jwt = Array.from({ length: 13_000 }, () => ({ issuer: {} }));
  const text = JSON.stringify({ ...kind, jwt });
  expect(problemsOf(text).length).toBeGreaterThan(13_000);
  expect(problemsOf(`${text.slice(0, -1)},"jwt":[]}`)[0]?.text).toBe(
    'line 1: the key "jwt" is already set in this map',
  );
});

test.each([
  [
    'nested too deeply',
    `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
    /^the file is nested deeper than \d+ levels$/,
  ],
  ['too large', `a: ${'x'.repeat(600_000)}`, 'the file has more than 524288 bytes, the limit for YAML'],
])('a file that is %s is rejected in these words', (_, text, problem) => {
  expect(problemsOf(text).map((one) => one.text)).toEqual([
    typeof problem === 'string' ? problem : expect.stringMatching(problem),
  ]);
});

test.each(['2562048h', '1000000h2562047h', '9223372036855ms'])(
  'the duration %s, which Go cannot hold, is none',
  (text) => {
    const problems = (): unknown =>
      loadEncryptionConfiguration(
        JSON.stringify({
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'EncryptionConfiguration',
          resources: [{ resources: ['*'], providers: [{ kms: { name: 'a', endpoint: 'unix:///a', timeout: text } }] }],
        }),
      );
    expect(problems).toThrow('resources[0].providers[0].kms.timeout: expected a duration');
  },
);

test('reports one problem per place, the more specific one', () => {
  const text = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: {url: https://a, audiences: []}
  - issuer: 7
`;
  expect(problemsOf(text).map((problem) => problem.text)).toEqual([
    'jwt[0].issuer.audiences: Required value: at least one audience is required',
    'jwt[0].claimMappings: Required value',
    'jwt[1].issuer: expected an object, got a number',
    'jwt[1].claimMappings: Required value',
  ]);
});
