import { describe, expect, test } from '@jest/globals';
import { LatencyTracker } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StatusError } from '@cluster-apiserver/model';
import { type ApiRequest, ClientGoneError } from './exchange.ts';
import { setDeadline } from './stages/deadline.ts';
import { parseRequestInfo } from './request-info.ts';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

/** The annotations of authorization in an audit event. */
const noted = (decision: string, reason: string): string[] => [
  `authorization.k8s.io/decision=${decision}`,
  `authorization.k8s.io/reason=${reason}`,
];

describe('a request', () => {
  test('has an audit ID, that of the caller if it is valid', async () => {
    expect((await ask('GET', robots, { headers: { 'audit-id': 'mine-1' } })).headers['audit-id']).toBe('mine-1');
    for (const wild of ['a b', 'x'.repeat(65), 'ä', ''])
      expect((await ask('GET', robots, { headers: { 'audit-id': wild } })).headers['audit-id']).toMatch(
        /^[0-9a-f-]{36}$/,
      );
  });

  test('is counted, whatever the outcome', async () => {
    await make('a');
    await ask('GET', `${robots}/none`);
    await ask('BREW', robots);
    expect(pipeline.counted).toEqual([
      { verb: 'create', code: 201 },
      { verb: 'get', code: 404 },
      { verb: 'BREW', code: 405 },
    ]);
  });

  test('ends at its deadline, however long authentication takes', async () => {
    const response = await ask('GET', `${robots}?timeout=10ms`, { headers: { authorization: 'slow' } });
    expect([response.status, response.json().reason]).toEqual([504, 'Timeout']);
  });

  test('ends when its client disconnects, without an error', async () => {
    const response = ask('GET', robots, { headers: { authorization: 'slow' } });
    pipeline.gone.abort(new ClientGoneError('the client left'));
    expect((await response).status).toBe(504);
    expect(pipeline.reportedErrors).toEqual([]);
  });

  test('passes the same call to authentication and authorization', async () => {
    await make('a');
    const calls = new Set(pipeline.asked.map(({ call }) => call));
    expect(calls.size).toBe(1);
    expect([...calls][0]?.trace).toBeUndefined();
  });

  test.each([
    [undefined, ['status 401']],
    ['visitor', ['user v', ...noted('forbid', 'no rule'), 'status 403']],
    ['master', ['user m', ...noted('allow', ''), 'rule=masters', 'status 200']],
    ['early', ['user y', 'status 503']],
    ['failing', ['user failing', 'authorization.k8s.io/reason=internal error', 'status 500']],
  ])('of %s is recorded with user, decision and outcome', async (authorization, lines) => {
    await ask('GET', `${robots}?audited=1`, { headers: { authorization } });
    expect(pipeline.recorded).toEqual(lines);
  });

  test.each([
    ['bob', 'as bob by impersonate:user-info', noted('forbid', 'no rule')],
    ['system:node:one', 'as system:node:one by impersonate:arbitrary-node', noted('forbid', 'no rule')],
  ])('that impersonates %s is recorded with the user and the verb', async (name, as, decision) => {
    await ask('GET', `${robots}?audited=1`, { headers: { 'impersonate-user': name } });
    expect(pipeline.recorded).toEqual(['user m', as, ...decision, 'status 403']);
  });

  test('that impersonates by the legacy verb is recorded without a constraint', async () => {
    const headers = { authorization: 'manager', 'impersonate-user': 'bob' };
    await ask('GET', `${robots}?audited=1`, { headers });
    expect(pipeline.recorded).toEqual([
      'user manager',
      'as bob by impersonate',
      ...noted('forbid', 'no rule'),
      'status 403',
    ]);
  });

  test('is recorded with request and response objects', async () => {
    const headers = { authorization: 'master', 'content-type': 'application/json' };
    const body = Buffer.from('{"metadata":{"name":"seen"}}');
    await ask('POST', `${robots}?audited=RequestResponse`, { headers, body });
    await ask('DELETE', `${robots}?audited=RequestResponse`, { headers });
    expect(pipeline.recorded.filter((line) => /^(request|response|status)/.test(line))).toEqual([
      expect.stringMatching(/^request .*"name":"seen"/),
      expect.stringMatching(/^response .*"name":"seen".*"uid":/),
      'status 201',
      'response Success',
      'status 200',
    ]);
  });

  test('an internal error is reported, and hidden from the client', async () => {
    const response = await ask('GET', '/broken/x');
    expect(response.status).toBe(500);
    expect(response.text).not.toContain('internal error of this test');
    expect(pipeline.reportedErrors).toHaveLength(1);
  });

  test.each(['', '0', '0s', '-0', '-5s', '%2B5s', '1000000%C2%B5s', '1000000%CE%BCs'])(
    'the timeout %j means the default, or is long enough',
    async (timeout) => {
      expect((await ask('GET', `${robots}?timeout=${timeout}`)).status).toBe(200);
    },
  );

  test('an object cannot be exported', async () => {
    await make('a');
    expect((await ask('GET', `${robots}/a?export=true`)).status).toBe(400);
    expect((await ask('GET', `${robots}/a?export=false`)).status).toBe(200);
  });

  test('an invalid timeout is refused, and one that is too long is capped', async () => {
    expect((await ask('GET', `${robots}?timeout=soon`)).status).toBe(400);
    expect((await ask('GET', `${robots}?timeout=5`)).status).toBe(400);
    expect((await ask('GET', `${robots}?timeout=10h`)).status).toBe(200);
    expect((await ask('GET', `${robots}?watch=1&timeoutSeconds=1&timeout=soon`)).status).toBe(200);
    // A second question mark is part of the query.
    expect((await ask('GET', `${robots}?dryRun=x?timeout=soon`)).status).toBe(200);
  });

  test('a storage error after the timeout of the client is a timeout', async () => {
    const clock = fakeClock();
    const late = async (): Promise<never> => {
      clock.advance(20);
      throw new StatusError('ServiceUnavailable', 'no answer in time');
    };
    const stage = setDeadline(clock, 60_000, late);
    const asking = (target: string) =>
      stage({
        request: {} as ApiRequest, // not read
        latency: new LatencyTracker(clock),
        auditId: 'a',
        info: parseRequestInfo('GET', target),
        warnings: new Set(),
      });
    await expect(asking('/x?timeout=10ms')).rejects.toMatchObject({ reason: 'Timeout', code: 504 });
    await expect(asking('/x?timeout=10s')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    await expect(asking('/x')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  });
});
