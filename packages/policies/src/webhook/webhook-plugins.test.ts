import { beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, DeadlineExceededError, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { type AdmissionContext, type HttpsResponse, HttpsError, type HttpsClient } from '@cluster-apiserver/gates';
import { kinds, type MutatingWebhook } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource } from '@cluster-apiserver/registry';
import { until } from '@cluster-apiserver/testkit/until';
import { services } from '../../../kinds/test/services.ts';
import { createMutatingAdmissionWebhook, createValidatingAdmissionWebhook } from './webhook-plugins.ts';
import { WebhookClients } from './webhook-clients.ts';

type Request = Parameters<HttpsClient['send']>[0];

const account = kinds(services).find(({ kind }) => kind === 'ServiceAccount');
if (!account) throw new Error('there are no service accounts');

let sent: Request[];
let send: HttpsClient['send'];
let annotations: Map<string, string>;
let warnings: string[];
let counted: string[];
/** The webhooks whose failed calls were reported. */
let failures: string[];
beforeEach(() => {
  sent = [];
  annotations = new Map();
  warnings = [];
  counted = [];
  failures = [];
  send = async (request) => answer(request, { allowed: true });
});

const answer = ({ body = '' }: Request, response: object): HttpsResponse => {
  const { apiVersion, request } = JSON.parse(body) as { apiVersion: string; request: { uid: string } };
  const review = { kind: 'AdmissionReview', apiVersion, response: { uid: request.uid, ...response } };
  return { status: 200, body: JSON.stringify(review) };
};
const patch = (...operations: object[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

const webhook = (name: string, part: Partial<MutatingWebhook> = {}): MutatingWebhook => ({
  name: `${name}.example.com`,
  clientConfig: { url: `https://${name}.example.com/` },
  rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...part,
});

/** As much of a collection as is asked for: the configurations of one kind. */
const configurationsOf = (...webhooks: MutatingWebhook[]): Resource => {
  const object = { kind: 'MutatingWebhookConfiguration', metadata: { name: 'all' }, webhooks };
  const items = { visit: (_: string, see: (item: object) => boolean) => void see({ key: 'all', object }) };
  const collection = {
    view: () => ({ items }),
    subscribe: () => () => {},
    hasLocalWrites: true,
    waitUntilFresh: () => undefined,
  };
  return { collection } as unknown as Resource;
};

const options = (...webhooks: MutatingWebhook[]) => ({
  configurations: configurationsOf(...webhooks),
  cluster: {
    findEquivalents: () => [],
    shown: (_: object, object: KubeObject) => object,
    decided: (_: object, object: KubeObject) => object,
    namespace: () => undefined,
    authorize: () => ({ verdict: 'noOpinion' as const }),
    params: () => undefined,
  },
  clients: new WebhookClients({
    open: () => ({
      send: (request, call) => {
        sent.push(request);
        return send(request, call);
      },
      retire: () => {},
      close: () => {},
    }),
    resolveService: () => undefined,
  }),
  measures: {
    called: (name: string, operation: string, isRejected: boolean, code: number) =>
      void counted.push(`called ${name} ${operation} ${isRejected} ${code}`),
    rejected: (name: string, operation: string, errorType: string, code: number) =>
      void counted.push(`rejected ${name} ${operation} ${errorType} ${code}`),
    failedOpen: (name: string) => void counted.push(`failed open ${name}`),
    conditions: { evaluated: () => {}, excluded: () => {}, failed: () => {} },
  },
  reportCall: ({ name }: { readonly name: string }, error: Error | undefined) => void (error && failures.push(name)),
  staticObjects: undefined,
  compileFailed: (error: unknown) => {
    throw error;
  },
  clock,
  random: seededRandom(1),
});

const context = (part: Partial<AdmissionContext> = {}): AdmissionContext => ({
  operation: 'CREATE',
  resource: account,
  kind: account,
  subresource: undefined,
  namespace: 'n',
  name: 'a',
  object: { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' } },
  oldObject: undefined,
  user: { name: 'somebody', groups: [] },
  dryRun: false,
  options: { kind: 'CreateOptions' },
  call: callUntil(Number.POSITIVE_INFINITY),
  reinvocation: false,
  warn: (text) => void warnings.push(text),
  annotate: (key, value) => void annotations.set(key, value),
  ...part,
});

const validate = async (part: Partial<AdmissionContext>, ...webhooks: MutatingWebhook[]) =>
  createValidatingAdmissionWebhook(options(...webhooks)).validate?.(context(part));
const mutate = async (part: Partial<AdmissionContext>, ...webhooks: MutatingWebhook[]) =>
  createMutatingAdmissionWebhook(options(...webhooks)).mutate?.(context(part));

test('is synchronous where no webhook matches, once the webhooks are compiled', async () => {
  const given = context();
  const mine = options(webhook('a', { rules: [] }));
  const [mutating, validating] = [createMutatingAdmissionWebhook(mine), createValidatingAdmissionWebhook(mine)];
  await Promise.all([mutating.mutate?.(given), validating.validate?.(given)]);
  expect(mutating.mutate?.(given)).toBe(given.object);
  expect(validating.validate?.(given)).toBeUndefined();
});

describe('Audit annotations hold', () => {
  test('the annotations of webhooks, under their names', async () => {
    const auditAnnotations = { why: 'because', 'with/slash': 'left out', '': 'left out' };
    send = async (request) => answer(request, { allowed: true, auditAnnotations });
    await validate({}, webhook('a'));
    expect([...annotations]).toEqual([['a.example.com/why', 'because']]);
  });

  test('which webhooks have changed the object', async () => {
    const add = patch({ op: 'add', path: '/metadata/labels', value: { a: 'b' } });
    send = async (request) => answer(request, request.url.host === 'b.example.com' ? add : { allowed: true });
    await mutate({}, webhook('a'), webhook('b'));
    expect([...annotations]).toEqual([
      [
        'mutation.webhook.admission.k8s.io/round_0_index_0',
        '{"configuration":"all","webhook":"a.example.com","mutated":false}',
      ],
      [
        'mutation.webhook.admission.k8s.io/round_0_index_1',
        '{"configuration":"all","webhook":"b.example.com","mutated":true}',
      ],
    ]);
  });

  test('the place of a webhook among all, also of those that do not match', async () => {
    await mutate({}, webhook('a', { rules: [] }), webhook('b'));
    expect([...annotations.keys()]).toEqual(['mutation.webhook.admission.k8s.io/round_0_index_1']);
  });

  test('which webhooks failed and were ignored', async () => {
    send = () => Promise.reject(new HttpsError('no'));
    const failing = webhook('a', { failurePolicy: 'Ignore' });
    await mutate({}, failing);
    await validate({}, failing);
    expect(Object.fromEntries(annotations)).toMatchObject({
      'failed-open.mutation.webhook.admission.k8s.io/round_0_index_0': 'a.example.com',
      'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'a.example.com',
    });
  });
});

describe('Metrics', () => {
  test.each<[string, HttpsClient['send'], Partial<MutatingWebhook>, string[]]>([
    [
      'an admitted write',
      async (request) => answer(request, { allowed: true }),
      {},
      ['called a.example.com CREATE false 200'],
    ],
    [
      'a denied one',
      async (request) => answer(request, { allowed: false, status: { code: 409 } }),
      {},
      ['called a.example.com CREATE true 409', 'rejected a.example.com CREATE no_error 409'],
    ],
    [
      'a failed call',
      async () => ({ status: 502, body: '' }),
      {},
      ['called a.example.com CREATE true 502', 'rejected a.example.com CREATE calling_webhook_error 502'],
    ],
    [
      'an ignored one',
      async () => ({ status: 502, body: '' }),
      { failurePolicy: 'Ignore' },
      ['called a.example.com CREATE false 502', 'failed open a.example.com'],
    ],
    [
      'a patch that cannot be applied',
      async (request) => answer(request, patch({ op: 'remove', path: '/x/y' })),
      { failurePolicy: 'Ignore' },
      ['called a.example.com CREATE true 0', 'rejected a.example.com CREATE apiserver_internal_error 0'],
    ],
  ])('of %s', async (_, sending, part, expected) => {
    send = sending;
    await mutate({}, webhook('a', part)).catch(() => {});
    expect(counted).toEqual(expected);
  });
});

test('validating webhooks are called in parallel, mutating ones in sequence', async () => {
  const waiting: (() => void)[] = [];
  send = (request) => new Promise((resolve) => void waiting.push(() => resolve(answer(request, { allowed: true }))));
  const calls = (count: number): Promise<true> => until(`${count} calls`, () => sent.length === count || undefined);
  const validated = validate({}, webhook('a'), webhook('b'));
  await calls(2);
  for (const release of waiting.splice(0)) release();
  await validated;
  const mutated = mutate({}, webhook('a'), webhook('b'));
  await calls(3);
  waiting.splice(0)[0]?.();
  await calls(4);
  waiting[0]?.();
  await mutated;
});

test.each(['Ignore', 'Fail'])(
  'the end of the request ends the call, whatever failurePolicy says: %s',
  async (failurePolicy) => {
    const left = new Error('the client has left');
    for (const error of [new DeadlineExceededError(), left]) {
      send = () => Promise.reject(error);
      await expect(mutate({}, webhook('a', { failurePolicy }))).rejects.toBe(error);
      await expect(validate({}, webhook('a', { failurePolicy }))).rejects.toBe(error);
    }
  },
);

test('the webhook gets its timeout in whole seconds', async () => {
  const deadlineMs = clock.monotonicMs() + 2_900;
  await validate({}, webhook('a'), webhook('b', { timeoutSeconds: 30 }));
  await validate({ call: callUntil(deadlineMs) }, webhook('c', { timeoutSeconds: 30 }));
  expect(sent.map(({ url }) => url.searchParams.get('timeout'))).toEqual(['10s', '30s', '3s']);
  expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 30_000, 30_000]);
});

test('a webhook with side effects is not called for a dry run', async () => {
  const effects = webhook('a', { sideEffects: 'Some', failurePolicy: 'Ignore' });
  const refused = { code: 400, message: 'admission webhook "a.example.com" does not support dry run' };
  await expect(validate({ dryRun: true }, effects)).rejects.toMatchObject(refused);
  await expect(mutate({ dryRun: true }, effects)).rejects.toMatchObject(refused);
  expect(sent).toEqual([]);
});

test('a failed call is logged by the plugin and not again with the answer', async () => {
  send = async () => ({ status: 502, body: '' });
  await expect(validate({}, webhook('a'))).rejects.toMatchObject({ code: 500, isLogged: true });
  await expect(mutate({}, webhook('a'))).rejects.toMatchObject({ code: 500, isLogged: true });
  expect(failures).toEqual(['a.example.com', 'a.example.com']);
});

test('a stored webhook that validation would refuse is a failed call', async () => {
  for (const part of [{ clientConfig: { url: 'x' } }, { admissionReviewVersions: ['v2'] }, { clientConfig: {} }]) {
    await expect(validate({}, webhook('a', part))).rejects.toMatchObject({ code: 500 });
    await validate({}, webhook('a', { ...part, failurePolicy: 'Ignore' }));
  }
  const matchConditions = [{ name: 'c', expression: 'no such' }];
  await expect(validate({}, webhook('a', { matchConditions }))).rejects.toMatchObject({ code: 403 });
  await validate({}, webhook('a', { matchConditions, failurePolicy: 'Ignore' }));
  expect(sent).toEqual([]);
});
