import { describe, expect, test } from '@jest/globals';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { type EventFacts, type ObjectReference, RequestFacts, SerializedEvent } from './event.ts';

const receivedMs = Date.UTC(2026, 0, 31, 12, 0, 0, 7);
const leastRequest = {
  level: 'Metadata',
  auditId: 'id',
  requestUri: '/healthz?a="b"',
  verb: 'get',
  user: undefined,
  sourceIps: [],
  userAgent: '',
  receivedMs,
} as const;
const least: EventFacts = {
  request: new RequestFacts(leastRequest),
  stage: 'RequestReceived',
  impersonatedUser: undefined,
  impersonationConstraint: undefined,
  objectRef: undefined,
  response: undefined,
  stageMs: receivedMs,
  annotations: undefined,
};
const objectRef: ObjectReference = {
  resource: 'serviceaccounts',
  namespace: 'team',
  name: 'robot',
  uid: 'u2',
  apiGroup: 'g.example',
  apiVersion: 'v1',
  resourceVersion: '7',
  subresource: 'token',
  text: undefined,
};
const most: EventFacts = {
  request: new RequestFacts({
    ...leastRequest,
    level: 'RequestResponse',
    verb: 'update',
    requestUri: '/api/v1/namespaces/team/serviceaccounts/robot/token',
    user: { name: 'ann', uid: 'u1', groups: ['devs', 'system:authenticated'], extra: { b: ['2'], a: ['1', '3'] } },
    sourceIps: ['10.0.0.1', '10.0.0.2'],
    userAgent: 'kubectl "x"',
  }),
  stage: 'ResponseComplete',
  impersonatedUser: { name: 'bob', groups: [] },
  impersonationConstraint: 'impersonate:user-info',
  objectRef,
  response: {
    status: 'Failure',
    message: 'not so',
    reason: 'Conflict',
    details: { name: 'robot', kind: 'serviceaccounts' },
    code: 409,
  },
  stageMs: receivedMs + 1.2345,
  annotations: new Map([
    ['authorization.k8s.io/reason', 'r'],
    ['authorization.k8s.io/decision', 'allow'],
  ]),
};
const objects = { request: '{"a":1}', response: '{"b":2}' };

describe('An event', () => {
  test('has no members for missing values', () => {
    expect(new SerializedEvent(least, undefined, false).json).toBe(
      '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id","stage":"RequestReceived",' +
        '"requestURI":"/healthz?a=\\"b\\"","verb":"get","user":{},' +
        '"requestReceivedTimestamp":"2026-01-31T12:00:00.007000Z","stageTimestamp":"2026-01-31T12:00:00.007000Z"}',
    );
  });

  test("has its members in kube-apiserver's order", () => {
    expect(new SerializedEvent(most, objects, false).json).toBe(
      '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id","stage":"ResponseComplete",' +
        '"requestURI":"/api/v1/namespaces/team/serviceaccounts/robot/token","verb":"update",' +
        '"user":{"username":"ann","uid":"u1","groups":["devs","system:authenticated"],"extra":{"a":["1","3"],"b":["2"]}},' +
        '"impersonatedUser":{"username":"bob"},' +
        '"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},' +
        '"sourceIPs":["10.0.0.1","10.0.0.2"],"userAgent":"kubectl \\"x\\"",' +
        '"objectRef":{"resource":"serviceaccounts","namespace":"team","name":"robot","uid":"u2","apiGroup":"g.example",' +
        '"apiVersion":"v1","resourceVersion":"7","subresource":"token"},' +
        '"responseStatus":{"metadata":{},"status":"Failure","message":"not so","reason":"Conflict",' +
        '"details":{"name":"robot","kind":"serviceaccounts"},"code":409},' +
        '"requestObject":{"a":1},"responseObject":{"b":2},' +
        '"requestReceivedTimestamp":"2026-01-31T12:00:00.007000Z","stageTimestamp":"2026-01-31T12:00:00.008234Z",' +
        '"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"r"}}',
    );
  });

  test('has only the code for a response without a Status', () => {
    const { json } = new SerializedEvent({ ...least, response: { code: 200 } }, undefined, false);
    expect(json).toContain('"user":{},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp"');
  });

  test('that is truncated lacks its objects and is annotated as truncated', () => {
    const truncated = JSON.parse(new SerializedEvent(most, objects, false).truncatedJson());
    expect(truncated).toEqual({
      ...JSON.parse(new SerializedEvent(most, undefined, false).json),
      annotations: { ...Object.fromEntries(most.annotations ?? []), 'audit.k8s.io/truncated': 'true' },
    });
    expect(JSON.parse(new SerializedEvent(least, undefined, true).json).annotations).toEqual({
      'audit.k8s.io/truncated': 'true',
    });
  });

  test.each([
    [
      least,
      '2026-01-31T12:00:00.007000Z AUDIT: id="id" stage="RequestReceived" ip="<unknown>" method="get" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/healthz?a=\\"b\\"" response="<deferred>"',
    ],
    [
      most,
      '2026-01-31T12:00:00.007000Z AUDIT: id="id" stage="ResponseComplete" ip="10.0.0.1" method="update" user="ann" groups="\\"devs\\",\\"system:authenticated\\"" as="bob" asgroups="" user-agent="kubectl \\"x\\"" namespace="team" uri="/api/v1/namespaces/team/serviceaccounts/robot/token" response="409"',
    ],
  ])('is one line of text in the legacy format', (facts, line) => {
    expect(new SerializedEvent(facts, undefined, false).formatLegacyLine()).toBe(line);
  });
});

test('names that are kept for later events do not hold the requests that they are parts of', () => {
  const targetCharacters = 64 * 1024;
  const before = usedHeapBytes();
  for (let at = 0; at < 1_000; at++) {
    const target = Buffer.from(`/api/v1/namespaces/namespace-number-${at}?${'x'.repeat(targetCharacters)}`).toString();
    const namespace = target.slice('/api/v1/namespaces/'.length, target.indexOf('?'));
    const facts = { ...least, objectRef: { ...objectRef, namespace, text: undefined } };
    expect(new SerializedEvent(facts, undefined, false).json).toContain(`"namespace":"namespace-number-${at}"`);
  }
  expect(usedHeapBytes() - before).toBeLessThan(100 * targetCharacters);
});
