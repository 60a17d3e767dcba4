import { X509Certificate } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { toSyncTask } from '@cluster-apiserver/base';
import { openSigner } from '@cluster-apiserver/certificates';
import type { CertificateSigningRequest } from '@cluster-apiserver/kinds';
import { fieldSubresourceOf, type KubeObject } from '@cluster-apiserver/model/kind';
import { patch, type Registry } from '@cluster-apiserver/registry';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { createRequest } from '../../../certificates/test/request.ts';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { createObject, openTestRegistry, readObject, resourceIn, untimed } from '../../test/objects.ts';
import type { LoggedEvent } from '../../test/recorded-log.ts';
import { beginTerm } from '../../test/term.ts';
import { quietTurns, until } from '../../test/turns.ts';
import type { ControllerServices } from '../run-controller.ts';
import { cleanRequests, findReasonToDelete } from './clean-requests.ts';
import { signRequests } from './sign-requests.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const clientSigner = 'kubernetes.io/kube-apiserver-client';
/** The certificate of the test authority is valid for an hour around the real present. */
let authority: Awaited<ReturnType<typeof testAuthority>>;
let shortLived: typeof authority;
let pem: string;
let clock: FakeClock;
let memory: ReturnType<typeof memoryStore>;
let registry: Registry;
let stops: (() => Promise<void>)[];

beforeAll(async () => {
  authority = await testAuthority('the authority', { validHours: [-1, 100_000] });
  shortLived = await testAuthority('the authority');
  pem = createRequest({
    subject: [
      ['O', 'devs'],
      ['CN', 'ann'],
    ],
  }).request;
});
beforeEach(() => {
  clock = fakeClock(new X509Certificate(shortLived.certificate).validFromDate.getTime() + hourMs);
  memory = memoryStore(clock);
  registry = openTestRegistry(memory, clock);
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await registry.cache.close();
  memory.close();
});

const requests = () => resourceIn(registry, 'certificatesigningrequests');

function work(run: typeof signRequests, services: Partial<ControllerServices> = {}): readonly LoggedEvent[] {
  const clientSigner = { signer: () => openSigner(authority), durationMs: 8_760 * hourMs };
  const { events, stop } = beginTerm(run, { clientSigner, ...services, api: registry.api, clock });
  stops.push(stop);
  return events;
}

const request = (name: string, spec: object = {}): Promise<KubeObject> => {
  const defaults = { signerName: clientSigner, usages: ['client auth'], request: Buffer.from(pem).toString('base64') };
  return createObject(requests(), { name }, { spec: { ...defaults, ...spec } } as object);
};

async function decide(name: string, type: 'Approved' | 'Denied', age = 0): Promise<void> {
  const lastUpdateTime = `${new Date(clock.now() - age).toISOString().slice(0, 19)}Z`;
  const condition = { type, status: 'True', reason: 'Test', lastUpdateTime };
  await setStatus(name, 'approval', { conditions: [condition] });
}

async function setStatus(name: string, subresource: 'approval' | 'status', status: object): Promise<void> {
  const change = toSyncTask((current: object) => {
    const before = (current as CertificateSigningRequest).status;
    return { ...current, status: { ...before, ...status } };
  });
  const quiet = { namespace: undefined, dryRun: false, manager: 'a-test', warn: () => {}, unknownFields: () => {} };
  const written = fieldSubresourceOf(requests().kind, subresource);
  await patch(requests(), name, { ...quiet, subresource: written, change }, untimed);
}

const read = async (name: string): Promise<CertificateSigningRequest | undefined> =>
  (await readObject(requests(), { name })) as CertificateSigningRequest | undefined;

async function certificateOf(name: string): Promise<X509Certificate> {
  await until(`${name} is signed`, async () => Boolean((await read(name))?.status.certificate));
  const { certificate = '' } = (await read(name))?.status ?? {};
  return new X509Certificate(Buffer.from(certificate, 'base64'));
}

describe('a request is signed', () => {
  test('once it is approved, and its status is written once', async () => {
    work(signRequests);
    await request('a');
    await quietTurns();
    expect((await read('a'))?.status).toEqual({});
    await decide('a', 'Approved');
    const certificate = await certificateOf('a');
    expect(certificate.subject).toBe('O=devs\nCN=ann');
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    const nowMs = Math.floor(clock.now() / 1_000) * 1_000;
    expect(certificate.validFromDate.getTime() - nowMs).toBe(-5 * minuteMs);
    expect(certificate.validToDate.getTime() - nowMs).toBe(8_760 * hourMs - 5 * minuteMs);
    const signed = await read('a');
    expect(signed?.status.conditions).toMatchObject([{ type: 'Approved', reason: 'Test' }]);
    // As in Kubernetes, where nobody owns a field of a request that has no labels and annotations.
    expect(signed?.metadata.managedFields).toBeUndefined();
    const before = await memory.readLatestRevision(untimed);
    await quietTurns();
    expect(await memory.readLatestRevision(untimed)).toBe(before);
  });

  test('also if it was approved before the term', async () => {
    await request('a');
    await decide('a', 'Approved');
    work(signRequests);
    await certificateOf('a');
  });

  test.each([
    { expirationSeconds: 600, until: 10 * minuteMs },
    { expirationSeconds: 8 * 3_600 - 1, until: 8 * hourMs - 1_000 },
    { expirationSeconds: 8 * 3_600, until: 8 * hourMs - 5 * minuteMs },
    { expirationSeconds: 2 ** 31 - 1, until: 48 * hourMs - 5 * minuteMs },
    { expirationSeconds: undefined, until: 48 * hourMs - 5 * minuteMs },
  ])('for $expirationSeconds seconds if it wants that', async ({ expirationSeconds, until: untilMs }) => {
    work(signRequests, { clientSigner: { signer: () => openSigner(authority), durationMs: 48 * hourMs } });
    await request('a', expirationSeconds === undefined ? {} : { expirationSeconds });
    await decide('a', 'Approved');
    const nowMs = Math.floor(clock.now() / 1_000) * 1_000;
    expect((await certificateOf('a')).validToDate.getTime() - nowMs).toBe(untilMs);
  });

  test('at most as long as its authority is valid, and not by one that has expired', async () => {
    let signer = openSigner(shortLived);
    const events = work(signRequests, { clientSigner: { signer: () => signer, durationMs: 48 * hourMs } });
    await request('a');
    await decide('a', 'Approved');
    expect((await certificateOf('a')).validToDate.getTime()).toBe(signer.notAfterMs);
    clock.advance(2 * hourMs);
    await request('b');
    await decide('b', 'Approved');
    await until('it failed', () => events.some(({ type }) => type === 'failed'));
    expect((await read('b'))?.status.certificate).toBeUndefined();
    expect((await read('b'))?.status.conditions).toHaveLength(1);
    signer = openSigner(authority);
    clock.advance(minuteMs);
    await certificateOf('b');
  });
});

describe('a request is not signed', () => {
  test.each(['example.com/own', 'kubernetes.io/kubelet-serving'])('if it is for %s', async (signerName) => {
    work(signRequests);
    await request('a', { signerName });
    await decide('a', 'Approved');
    await quietTurns();
    expect((await read('a'))?.status).toMatchObject({ conditions: [{ type: 'Approved' }] });
    expect((await read('a'))?.status.certificate).toBeUndefined();
  });

  test('if it was denied, or failed', async () => {
    work(signRequests);
    await request('a');
    await decide('a', 'Denied');
    await request('b');
    await setStatus('b', 'status', { conditions: [{ type: 'Failed', status: 'True', reason: 'Test' }] });
    const { status } = (await read('b')) as CertificateSigningRequest;
    const approved = { type: 'Approved', status: 'True', reason: 'Test' };
    await setStatus('b', 'approval', { conditions: [...(status.conditions ?? []), approved] });
    await quietTurns();
    for (const name of ['a', 'b']) expect((await read(name))?.status.certificate).toBeUndefined();
  });

  test.each([
    [['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
    [['digital signature'], 'missing required usage for client certificate: client auth'],
  ])('if it wants the usages %j, and fails', async (usages, message) => {
    work(signRequests);
    await request('a', { usages });
    await decide('a', 'Approved');
    await until('it failed', async () => (await read('a'))?.status.conditions?.length === 2);
    const { status } = (await read('a')) as CertificateSigningRequest;
    expect(status.certificate).toBeUndefined();
    expect(status.conditions?.[1]).toMatchObject({
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message,
      lastUpdateTime: expect.any(String),
    });
  });

  test('if it is larger than certificates that TLS transports, and fails', async () => {
    const groups = Array.from({ length: 1_000 }, (_, at) => ['O', `${at}-${'x'.repeat(60)}`] as const);
    const large = createRequest({ subject: groups }).request;
    work(signRequests);
    await request('a', { request: Buffer.from(large).toString('base64') });
    await decide('a', 'Approved');
    await until('it failed', async () => (await read('a'))?.status.conditions?.length === 2);
  });

  test('without an authority', async () => {
    work(signRequests, { clientSigner: undefined });
    await request('a');
    await decide('a', 'Approved');
    await quietTurns();
    expect((await read('a'))?.status.certificate).toBeUndefined();
  });
});

describe('old requests', () => {
  test('are deleted when a term begins and every hour, and others stay', async () => {
    await request('pending');
    await request('approved');
    await decide('approved', 'Approved');
    await request('denied');
    await decide('denied', 'Denied', 61 * minuteMs);
    work(cleanRequests);
    await until('it is gone', async () => (await read('denied')) === undefined);
    await decide('pending', 'Denied');
    for (let hours = 0; hours < 2; hours++) {
      clock.advance(hourMs);
      await quietTurns();
    }
    expect(await read('pending')).toBeUndefined();
    expect(await read('approved')).toBeDefined();
    for (let hours = 0; hours < 24; hours++) {
      clock.advance(hourMs);
      await quietTurns();
    }
    expect(await read('approved')).toBeUndefined();
  });

  const nowMs = Date.UTC(2026, 0, 10);
  const ago = (ms: number): string => new Date(nowMs - ms).toISOString();
  const condition = (type: string, ms: number) => ({ type, status: 'True', lastUpdateTime: ago(ms) });

  test.each([
    { reason: undefined, conditions: [], created: 24 * hourMs },
    { reason: 'never decided', conditions: [], created: 24 * hourMs + 1 },
    { reason: undefined, conditions: [condition('Denied', hourMs)] },
    { reason: 'denied', conditions: [condition('Denied', hourMs + 1)] },
    { reason: undefined, conditions: [condition('Approved', 24 * hourMs)] },
    { reason: 'never issued', conditions: [condition('Approved', 24 * hourMs + 1)] },
    { reason: 'failed', conditions: [condition('Approved', 0), condition('Failed', hourMs + 1)] },
    { reason: undefined, conditions: [condition('Approved', hourMs)], certificate: 'eA==' },
    { reason: 'issued', conditions: [condition('Approved', hourMs + 1)], certificate: 'eA==' },
    { reason: undefined, conditions: [{ type: 'Other', status: 'True' }], created: 100 * hourMs },
  ])('a request with $conditions, created $created ms ago: $reason', ({ reason, created = 0, ...status }) => {
    const object = { metadata: { creationTimestamp: ago(created) }, status } as never;
    expect(findReasonToDelete(object, nowMs)).toBe(reason);
  });

  test('one with a certificate that has expired is deleted', () => {
    const { validToDate, raw } = new X509Certificate(shortLived.certificate);
    const certificate = Buffer.from(
      `-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----\n`,
    ).toString('base64');
    const conditions = [{ type: 'Approved', status: 'True' }];
    const object = { metadata: {}, status: { certificate, conditions } } as never;
    expect(findReasonToDelete(object, validToDate.getTime() - 1)).toBeUndefined();
    expect(findReasonToDelete(object, validToDate.getTime() + 1)).toBe('expired');
  });
});
