/** Certificates of users by kubectl: request, decision, signature, use. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { createRequest } from '../../../certificates/test/request.ts';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

const requestOf = (name: string, pem: string, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth', 'digital signature'],
      ...spec,
    },
  });

describeWithKubectl('kubectl gets certificates', () => {
  const cleanup = new CleanupStack();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'certificates-'));
  cleanup.defer('home', () => fs.rmSync(home, { recursive: true, force: true }));
  let kubectl: Kubectl;
  beforeAll(async () => {
    const authority = await testAuthority('users');
    kubectl = await openKubectl({
      files: { 'ca.crt': authority.certificate, 'ca.key': authority.privateKey },
      flags: ['--client-ca-file=ca.crt', '--cluster-signing-cert-file=ca.crt', '--cluster-signing-key-file=ca.key'],
    });
    cleanup.defer('kubectl', () => kubectl.close());
  });
  afterAll(() => cleanup.close());

  const conditionOf = async (name: string): Promise<string | undefined> =>
    rows(await kubectl.stdoutOf(`get csr ${name} --no-headers`))[0]?.at(-1);

  test('a user with an approved certificate has its name and groups', async () => {
    const subject = [
      ['O', 'devs'],
      ['CN', 'ann'],
    ] as const;
    const { request, privateKey } = createRequest({ subject });
    await kubectl.stdoutOf('create -f -', requestOf('ann', request, { expirationSeconds: 600 }));
    expect(await conditionOf('ann')).toBe('Pending');
    await kubectl.stdoutOf('certificate approve ann');
    await until('it is issued', async () => (await conditionOf('ann')) === 'Approved,Issued' || undefined);
    const certificate = await kubectl.stdoutOf('get csr ann -o jsonpath={.status.certificate}');
    fs.writeFileSync(path.join(home, 'ann.crt'), Buffer.from(certificate, 'base64'));
    fs.writeFileSync(path.join(home, 'ann.key'), privateKey);
    // An empty token replaces that of the administrator.
    const asAnn = `--token= --client-certificate=${home}/ann.crt --client-key=${home}/ann.key`;
    const whoAmI = rows(await kubectl.stdoutOf(`${asAnn} auth whoami`));
    expect(whoAmI).toContainEqual(['Username', 'ann']);
    expect(whoAmI).toContainEqual(['Groups', '[devs', 'system:authenticated]']);
    expect((await kubectl.run(`${asAnn} get cm`)).error).toContain('User "ann" cannot list');
    await kubectl.stdoutOf('create rolebinding devs --clusterrole=view --group=devs');
    expect(await kubectl.stdoutOf(`${asAnn} auth can-i list cm`)).toBe('yes\n');
  });

  test('a denied request, one of another signer and one of other usages get no certificate', async () => {
    const { request } = createRequest({ subject: [['CN', 'bob']] });
    await kubectl.stdoutOf('create -f -', requestOf('denied', request));
    await kubectl.stdoutOf('certificate deny denied');
    await kubectl.stdoutOf('create -f -', requestOf('elsewhere', request, { signerName: 'example.com/own' }));
    await kubectl.stdoutOf('certificate approve elsewhere');
    await kubectl.stdoutOf('create -f -', requestOf('server', request, { usages: ['server auth'] }));
    await kubectl.stdoutOf('certificate approve server');
    await until('it failed', async () => (await conditionOf('server')) === 'Approved,Failed' || undefined);
    expect(await kubectl.stdoutOf('describe csr server')).toContain('Status:');
    expect(await conditionOf('denied')).toBe('Denied');
    expect(await conditionOf('elsewhere')).toBe('Approved');
  });

  test('a key that authentication would not trust is refused at once', async () => {
    const { request } = createRequest({ subject: [['CN', 'bob']], algorithm: 'RSA-512' });
    const refused = await kubectl.run('create -f -', requestOf('weak', request));
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('the key is weak') });
  });
});
