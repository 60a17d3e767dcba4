/**
 * What authorization costs, in CPU time for each request.
 * `node --conditions=source packages/gates/bench/authorization.ts`
 */
import { callUntil, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { compile, types } from '@cluster-apiserver/expressions';
import {
  createAbacAuthorizer,
  createPathAuthorizer,
  alwaysAllow,
  type Authorizer,
  uniteAuthorizers,
  countDecisions,
  mastersGroup,
  compilePathPatterns,
  createGroupAuthorizer,
  createWebhookAuthorizer,
} from '../src/index.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const groups = ['a', 'b', 'c', 'system:authenticated'];
const resource = { group: '', version: 'v1', resource: 'serviceaccounts', subresource: undefined };
const question = {
  user: { name: 'ann', groups, extra: { 'example.com/tenant': ['x'] }, uid: '7f0c2c5e-6d0a-4a51-9c0e-6d7f4b3f1b11' },
  verb: 'get',
  path: '/api/v1/namespaces/team/serviceaccounts/robot',
  resource: { ...resource, namespace: 'team', name: 'robot' },
};
const body = JSON.stringify({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  status: { allowed: true },
});
const webhook = (texts: readonly string[]): Authorizer =>
  createWebhookAuthorizer({
    name: 'hook',
    authorizedTtlMs: 3_600_000,
    unauthorizedTtlMs: 3_600_000,
    timeoutMs: 3_000,
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    matchConditions: texts.map((text) => {
      const compiled = compile(text, { user: types.string, groups: types.list(types.string) });
      if ('faults' in compiled) throw new Error(compiled.faults.join());
      return compiled.expression;
    }),
    connection: () => ({
      client: { send: async () => ({ status: 200, body }) },
      url: new URL('https://hook.example.com'),
      bearerToken: undefined,
    }),
    clock,
    random: seededRandom(1),
    signal: new AbortController().signal,
    measures: {
      evaluated: () => {},
      failedOpen: () => {},
      rejected: () => {},
      conditions: { evaluated: () => {}, excluded: () => {}, failed: () => {} },
    },
    reviewed: () => {},
  });

async function measured(what: string, count: number, configured: Authorizer): Promise<void> {
  const paths = createPathAuthorizer(compilePathPatterns(['/healthz', '/readyz', '/livez']));
  const authorizer = uniteAuthorizers([
    createGroupAuthorizer([mastersGroup]),
    paths,
    uniteAuthorizers([countDecisions(configured, () => {})]),
  ]);
  const run = async (): Promise<void> => {
    for (let done = 0; done < count; done++) {
      const decision = authorizer.authorize(question, call);
      if (decision instanceof Promise) await decision;
    }
  };
  await run();
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  console.log(`${what}: ${((user + system) / count).toFixed(3)} µs`);
}

const policy = {
  user: '',
  group: 'c',
  namespace: '*',
  resource: '*',
  apiGroup: '*',
  nonResourcePath: '',
  readonly: false,
};
await measured('the chain around an authorizer that allows', 3_000_000, alwaysAllow);
await measured(
  'ABAC, the last of 1,000 policies',
  300_000,
  createAbacAuthorizer([...Array.from({ length: 1_000 }, (_, at) => ({ ...policy, resource: `r${at}` })), policy]),
);
await measured('a decision of a webhook that is remembered', 300_000, webhook([]));
await measured('the same with two conditions', 300_000, webhook(["user != 'bob'", "'c' in groups"]));
