import { expect, test } from '@jest/globals';
import { ConfigurationError, loadAuthenticationConfiguration } from './index.ts';

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

test('reports one problem per place, the more specific one', () => {
  const text = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
  - issuer: {url: https://a, audiences: []}
  - issuer: 7
`;
  expect(problemsOf(text).map((problem) => problem.text)).toEqual([
    'jwt[1].issuer: expected an object, got a number',
    'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
    'jwt[0].claimMappings.username: Required value: claim or expression is required',
    'jwt[1].claimMappings.username: Required value: claim or expression is required',
  ]);
});
