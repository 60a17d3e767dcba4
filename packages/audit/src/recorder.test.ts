import { beforeEach, describe, expect, test } from '@jest/globals';
import { End } from '@cluster-apiserver/base';
import { loadAuditPolicy } from '@cluster-apiserver/config';
import { StatusError } from '@cluster-apiserver/model';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { createAuditor } from './recorder.ts';
import type { AuditBackend } from './backend.ts';
import type { AuditedRequest } from './recorder.ts';

let recorded: Record<string, unknown>[];
let counted: string[];
/** What the backend makes of the next events. */
let process: () => boolean | Promise<boolean>;
/** Whether the backend has room for the next events. */
let hasRoom: () => boolean | Promise<boolean>;

beforeEach(() => {
  recorded = [];
  counted = [];
  process = () => true;
  hasRoom = () => true;
});

const backend: AuditBackend = {
  isBlocking: true,
  objectCharactersMax: 100_000,
  waitForRoom: () => hasRoom(),
  reserve: () => {
    const found = hasRoom();
    const release = (has: boolean): (() => void) | undefined => (has ? () => void counted.push('released') : undefined);
    return found instanceof Promise ? found.then(release) : release(found);
  },
  process: (event) => {
    recorded.push(JSON.parse(event.json));
    return process();
  },
  track: () => {},
  close: async () => {},
};

const ann = { name: 'ann', groups: [] };

/** A request, and what is called when it ends. */
function begin(rule: object, part: Partial<AuditedRequest['info']> & { header?: string; target?: string } = {}) {
  const end = new End<object>();
  const { header, target = '/target', ...info } = part;
  const auditor = createAuditor({
    clock: fakeClock(),
    policy: () => loadAuditPolicy(JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [rule] })),
    backend,
    measures: {
      event: () => void counted.push('event'),
      level: (level) => void counted.push(level),
      rejected: () => void counted.push('rejected'),
    },
    report: (error) => void counted.push(String(error)),
  });
  const request: AuditedRequest = {
    auditId: 'id',
    request: {
      target,
      remoteAddress: '10.0.0.1',
      header: () => header,
      onEnd: (listener) => end.subscribe(listener),
    },
    info: {
      verb: 'create',
      path: '/path',
      resource: { group: '', version: 'v1', namespace: 'team', plural: 'serviceaccounts', subresource: undefined },
      ...info,
    },
  };
  return { recorder: auditor.begin(request, undefined), end: () => end.reach({}) };
}

const stages = (): unknown[] => recorded.map(({ stage }) => stage);
const notFound = new StatusError('NotFound', 'none', {});

test('credentials in the query are in no event', async () => {
  const { recorder } = begin({ level: 'Metadata' }, { target: '/x?access_token=hush&limit=1' });
  await recorder.logRequestReceived(ann);
  await recorder.logResponse(200, false);
  expect(recorded.map(({ requestURI }) => requestURI)).toEqual(Array(2).fill('/x?access_token=[hidden]&limit=1'));
});

describe('The stages of', () => {
  test('a request are RequestReceived and ResponseComplete', async () => {
    const { recorder } = begin({ level: 'Metadata' });
    await recorder.logRequestReceived(ann);
    await recorder.logResponse(200, false);
    expect(stages()).toEqual(['RequestReceived', 'ResponseComplete']);
    expect(counted).toEqual(['Metadata', 'event', 'event']);
  });

  test('a streamed response end when it has been sent', async () => {
    const { recorder, end } = begin({ level: 'Metadata' });
    await recorder.logRequestReceived(ann);
    await recorder.logResponse(200, true);
    expect(stages()).toEqual(['RequestReceived']);
    end();
    expect(stages()).toEqual(['RequestReceived', 'ResponseComplete']);
  });

  test.each([
    ['a list', 'list', ['RequestReceived', 'ResponseComplete']],
    ['a watch', 'watch', ['RequestReceived', 'ResponseStarted', 'ResponseComplete']],
  ])('%s whose client leaves before its response is ready are complete', async (_, verb, expected) => {
    const { recorder, end } = begin({ level: 'Metadata' }, { verb });
    await recorder.logRequestReceived(ann);
    end();
    await recorder.logResponse(200, true);
    expect(stages()).toEqual(expected);
  });

  test('a watch include ResponseStarted', async () => {
    const { recorder, end } = begin({ level: 'Metadata' }, { verb: 'watch' });
    await recorder.logRequestReceived(ann);
    await recorder.logResponse(200, true);
    expect(stages()).toEqual(['RequestReceived', 'ResponseStarted']);
    end();
    expect(stages()).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
  });

  test('a refused watch are those of other requests', async () => {
    const { recorder } = begin({ level: 'Metadata' }, { verb: 'watch' });
    await recorder.logRequestReceived(ann);
    await recorder.logFailure(notFound, false);
    expect(stages()).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
  });

  test('an internal error end with Panic', async () => {
    const { recorder } = begin({ level: 'RequestResponse' });
    await recorder.logRequestReceived(ann);
    await recorder.logFailure(
      new StatusError('InternalError', 'Internal error occurred', undefined, { cause: new Error('oops') }),
      true,
    );
    expect(stages()).toEqual(['RequestReceived', 'Panic']);
    expect(recorded[1]?.responseStatus).toEqual({
      metadata: {},
      status: 'Failure',
      message: "APIServer panic'd: oops",
      reason: 'InternalError',
      code: 500,
    });
  });

  test('an unauthenticated request are ResponseComplete only', async () => {
    const { recorder } = begin({ level: 'Metadata' });
    await recorder.logFailure(new StatusError('Unauthorized', 'Unauthorized'), false);
    expect(recorded).toMatchObject([
      {
        stage: 'ResponseStarted',
        user: {},
        responseStatus: { message: 'Unauthorized', reason: 'Unauthorized', code: 401 },
      },
    ]);
  });

  test.each([
    [['RequestReceived'], ['ResponseStarted', 'ResponseComplete']],
    [['ResponseStarted'], ['RequestReceived', 'ResponseComplete']],
    [['ResponseComplete', 'RequestReceived'], ['ResponseStarted']],
  ])('a policy that omits %j are the others', async (omitStages, expected) => {
    const { recorder } = begin({ level: 'Metadata', omitStages }, { verb: 'watch' });
    await recorder.logRequestReceived(ann);
    await recorder.logFailure(notFound, false);
    expect(stages()).toEqual(expected);
    expect(counted.filter((one) => one === 'event')).toHaveLength(expected.length);
  });

  test('a request that the policy omits are none', async () => {
    const { recorder } = begin({ level: 'None' });
    expect(recorder.logRequestReceived(ann)).toBeUndefined();
    recorder.logRequestObject({ metadata: {} }, 10);
    expect(recorder.wantsResponseObject).toBe(false);
    expect(recorder.logResponse(200, false)).toBeUndefined();
    expect([recorded, counted]).toEqual([[], ['None']]);
  });
});

describe('The objects of', () => {
  const send = async (rule: object, part: Parameters<typeof begin>[1] = {}): Promise<Record<string, unknown>> => {
    const { recorder } = begin(rule, part);
    await recorder.logRequestReceived(ann);
    const metadata = { name: 'robot', uid: 'u', resourceVersion: '7', managedFields: [{}] };
    recorder.logRequestObject({ kind: 'A', metadata, token: 'secret' }, 100);
    if (recorder.wantsResponseObject)
      recorder.logResponseObject(['{"metadata":{"managedFields":', '[1]},"token":"secret"}\n'], 100);
    await recorder.logResponse(201, false);
    return recorded[1] ?? {};
  };

  test.each([
    ['Metadata', [false, false]],
    ['Request', [true, false]],
    ['RequestResponse', [true, true]],
  ])('an event of the level %s are there: %j', async (level, expected) => {
    const event = await send({ level });
    expect(['requestObject' in event, 'responseObject' in event]).toEqual(expected);
    expect(recorded[0]).not.toHaveProperty('requestObject');
  });

  test('a request complete the reference', async () => {
    expect((await send({ level: 'Metadata' })).objectRef).toEqual({
      resource: 'serviceaccounts',
      namespace: 'team',
      name: 'robot',
      uid: 'u',
      apiVersion: 'v1',
      resourceVersion: '7',
    });
  });

  test('neither has managed fields where they are omitted', async () => {
    const event = await send({ level: 'RequestResponse', omitManagedFields: true });
    expect(event.requestObject).toEqual({
      kind: 'A',
      metadata: { name: 'robot', uid: 'u', resourceVersion: '7' },
      token: 'secret',
    });
    expect(event.responseObject).toEqual({ metadata: {}, token: 'secret' });
  });

  test('resources for tokens have none', async () => {
    const resource = { group: '', version: 'v1', namespace: 'team', plural: 'serviceaccounts', subresource: 'token' };
    const event = await send({ level: 'RequestResponse' }, { resource });
    expect(JSON.stringify(event)).not.toContain('secret');
    expect(event).toMatchObject({ requestObject: { token: '[hidden]' }, responseObject: { token: '[hidden]' } });
  });

  test('Secrets are in no event', async () => {
    const resource = { group: '', version: 'v1', namespace: 'team', plural: 'secrets', subresource: undefined };
    const event = await send({ level: 'RequestResponse' }, { resource });
    expect(event).toMatchObject({ objectRef: { resource: 'secrets', name: 'robot' }, responseStatus: { code: 201 } });
    expect(['requestObject' in event, 'responseObject' in event]).toEqual([false, false]);
  });

  test('a patch are what was sent', async () => {
    const { recorder } = begin({ level: 'Request' });
    await recorder.logRequestReceived(ann);
    recorder.logRequestPatch(Buffer.from('[ {"op": "remove"} ]\n'));
    await recorder.logResponse(200, false);
    expect(recorded[1]?.requestObject).toEqual([{ op: 'remove' }]);
  });

  test('a large event are serialized in steps while its request waits', async () => {
    const { recorder } = begin({ level: 'Request' });
    await recorder.logRequestReceived(ann);
    recorder.logRequestObject({ items: Array(10_000).fill(1) }, 50_000);
    const waiting = recorder.logResponse(200, false);
    expect(recorded).toHaveLength(1);
    await waiting;
    expect(recorded[1]?.requestObject).toEqual({ items: Array(10_000).fill(1) });
  });

  test('an event that would be too large are omitted, with an annotation', async () => {
    const { recorder } = begin({ level: 'RequestResponse' });
    await recorder.logRequestReceived(ann);
    recorder.logRequestObject({ metadata: { name: 'robot' } }, 60_000);
    recorder.logResponseObject(['{}'], 60_000);
    await recorder.logResponse(200, false);
    expect(recorded[1]).not.toHaveProperty('requestObject');
    expect(recorded[1]).toMatchObject({
      objectRef: { name: 'robot' },
      annotations: { 'audit.k8s.io/truncated': 'true' },
    });
  });

  test('an event whose object cannot be serialized are omitted, with an annotation', async () => {
    const { recorder } = begin({ level: 'RequestResponse' });
    await recorder.logRequestReceived(ann);
    recorder.logResponseObject(
      (function* () {
        yield '{';
        throw new Error('unreadable');
      })(),
      50_000,
    );
    await recorder.logResponse(200, false);
    expect(recorded[1]?.annotations).toEqual({ 'audit.k8s.io/truncated': 'true' });
    expect(counted).toContain('Error: unreadable');
  });
});

describe('A request', () => {
  test('waits until it is recorded', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    process = () => promise;
    const { recorder } = begin({ level: 'Metadata' });
    let isReceived = false;
    void recorder.logRequestReceived(ann)?.then(() => (isReceived = true));
    await untilTurned(() => recorded.length === 1);
    expect(isReceived).toBe(false);
    resolve(true);
    await untilTurned(() => isReceived);
  });

  test.each([
    ['at once', () => false],
    ['later', async () => false],
  ])('that cannot be recorded is refused %s, and nothing else is recorded of it', async (_, outcome) => {
    process = outcome;
    const { recorder } = begin({ level: 'Metadata' });
    const error = await Promise.resolve(recorder.logRequestReceived(ann)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 500, message: 'Internal error occurred: failed to store audit event' });
    await recorder.logFailure(error as StatusError, false);
    expect(stages()).toEqual(['RequestReceived']);
    expect(counted).toEqual(['Metadata', 'event', 'rejected']);
  });

  test.each([
    ['at once', () => false],
    ['later', async () => false],
  ])('without room for its events is refused %s, and nothing is recorded of it', async (_, outcome) => {
    hasRoom = outcome;
    const { recorder } = begin({ level: 'Metadata', omitStages: ['RequestReceived'] });
    const error = await Promise.resolve(recorder.logRequestReceived(ann)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } });
    await recorder.logFailure(error as StatusError, false);
    expect(stages()).toEqual([]);
    expect(counted).toEqual(['Metadata', 'rejected']);
  });

  test('that is not authenticated is refused in the same way', async () => {
    hasRoom = async () => false;
    const { recorder } = begin({ level: 'Metadata' });
    await expect(recorder.logFailure(new StatusError('Unauthorized', 'no', {}), false)).rejects.toMatchObject({
      code: 429,
    });
    expect(stages()).toEqual([]);
  });

  test('that the policy omits needs no room', () => {
    hasRoom = async () => false;
    const { recorder } = begin({ level: 'None' });
    expect(recorder.logRequestReceived(ann)).toBeUndefined();
  });

  test('without room for its objects is recorded without them', async () => {
    const { recorder } = begin({ level: 'Request' });
    await recorder.logRequestReceived(ann);
    recorder.logRequestObject({ metadata: {} }, 100);
    hasRoom = async () => false;
    await recorder.logResponse(200, false);
    expect(recorded[1]).toMatchObject({ stage: 'ResponseComplete', annotations: { 'audit.k8s.io/truncated': 'true' } });
    expect(recorded[1]).not.toHaveProperty('requestObject');
  });

  test('gives the room of its objects back when they are recorded', async () => {
    const { recorder } = begin({ level: 'Request' });
    await recorder.logRequestReceived(ann);
    recorder.logRequestObject({ metadata: {} }, 100);
    hasRoom = async () => true;
    await recorder.logResponse(200, false);
    expect(recorded[1]).toHaveProperty('requestObject');
    expect(counted.filter((one) => one === 'released')).toHaveLength(1);
  });

  test('with a response gets it, recorded or not', async () => {
    const { recorder } = begin({ level: 'Metadata' });
    await recorder.logRequestReceived(ann);
    process = async () => false;
    await recorder.logResponse(200, false);
    expect(stages()).toEqual(['RequestReceived', 'ResponseComplete']);
  });

  test('has a user agent truncated to its maximum length', async () => {
    const { recorder } = begin({ level: 'Metadata' }, { header: 'a'.repeat(2_000) });
    await recorder.logRequestReceived(ann);
    expect(recorded[0]?.userAgent).toBe(`${'a'.repeat(1024)}...TRUNCATED`);
  });

  test('keeps the first value of an annotation', async () => {
    const { recorder } = begin({ level: 'Metadata' });
    await recorder.logRequestReceived(ann);
    recorder.annotate('a', '1');
    recorder.annotate('a', '2');
    await recorder.logResponse(200, false);
    expect(recorded[1]?.annotations).toEqual({ a: '1' });
  });
});
