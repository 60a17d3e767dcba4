/** Certificates of users that the server signs with the authority of its files. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { until } from '@cluster-apiserver/testkit/until';
import { createRequest } from '../../../certificates/test/request.ts';
import { type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const hourMs = 3_600_000;

let server: TestServer;
let authority: TestAuthority;
beforeAll(async () => {
  authority = await testAuthority('first', { validHours: [-1, 1_000] });
  server = await serveKinds(kinds, {
    files: { 'ca.crt': authority.certificate, 'ca.key': authority.privateKey },
    flags: [
      '--cluster-signing-cert-file=ca.crt',
      '--cluster-signing-key-file=ca.key',
      '--cluster-signing-duration=48h',
    ],
    errorsExpected: true,
  });
});
afterAll(() => server.close());

async function signed(name: string): Promise<X509Certificate> {
  const { request } = createRequest({ subject: [['CN', name]] });
  const { body } = await server.request('POST', requests, {
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  });
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test' }];
  const approved = await server.request('PUT', `${requests}/${name}/approval`, { ...body, status: { conditions } });
  expect(approved).toMatchObject({ status: 200 });
  const certificate = await until(`${name} is signed`, async () => {
    const current = (await server.request('GET', `${requests}/${name}`)).body;
    return (current as KubeObject & { status: { certificate?: string } }).status.certificate;
  });
  return new X509Certificate(Buffer.from(certificate, 'base64'));
}

test('last as long as the flag says, and come from the authority that is in the files at the time', async () => {
  const one = await signed('one');
  expect(one.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  // Five minutes of it are in the past.
  expect(one.validToDate.getTime() - one.validFromDate.getTime()).toBe(48 * hourMs);

  const next = await testAuthority('next');
  await server.write('ca.key', next.privateKey);
  await server.write('ca.crt', next.certificate);
  await until(
    'the reload',
    () => server.logLines.some((line) => /reloaded".*signing authority/.test(line)) || undefined,
  );
  const two = await signed('two');
  expect(two.checkIssued(new X509Certificate(next.certificate))).toBe(true);
  // Never longer than the authority.
  expect(two.validToDate).toEqual(new X509Certificate(next.certificate).validToDate);
});
