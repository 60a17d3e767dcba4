import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { encodePublicKey, forgeCertificate } from '../test/forged-certificate.ts';
import { createRequest, type WantedRequest } from '../test/request.ts';
import { testAuthority } from '../test/test-authority.ts';
import { readCertificateRequest } from './certificate-request.ts';
import { parseCertificate } from './certificate.ts';
import { readAuthorities, verifyClient } from './index.ts';
import { nameTags } from './extensions.ts';
import type { Credentials } from './keys.ts';
import { openSigner } from './signer.ts';

const hourMs = 3_600_000;
/** The tag of a name that is an object identifier. */
const registeredId = 0x88;
const nowMs = Math.floor(systemClock.now() / 1_000) * 1_000;
let authority: Credentials;
beforeAll(async () => {
  authority = await testAuthority('the authority');
});

async function sign(
  wanted: WantedRequest,
  { usages = ['client auth'], notAfterMs = nowMs + hourMs, by = authority } = {},
): Promise<X509Certificate> {
  const request = readCertificateRequest(createRequest(wanted).request);
  const times = { notBeforeMs: nowMs - hourMs / 2, notAfterMs };
  return new X509Certificate(await openSigner(by).sign(request, { usages, ...times }, systemRandom()));
}

test('a certificate has the key, the names and the times that were asked for, and OpenSSL and the server trust it', async () => {
  const certificate = await sign(
    {
      subject: [
        ['O', 'one'],
        ['CN', 'Jürgen'],
        ['O', 'other'],
        ['OU', 'unit'],
      ],
    },
    { usages: ['digital signature', 'key encipherment', 'client auth'] },
  );
  expect(certificate.subject.split('\n').toSorted()).toEqual(['CN=Jürgen', 'O=one + O=other', 'OU=unit']);
  expect(certificate.issuer).toBe('CN=the authority');
  expect(certificate.validToDate.getTime()).toBe(nowMs + hourMs);
  expect(certificate.validFromDate.getTime()).toBe(nowMs - hourMs / 2);
  expect(certificate.ca).toBe(false);
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
  expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  const verified = verifyClient([certificate.raw], readAuthorities(authority.certificate), nowMs);
  expect(verified.subject('CN')).toEqual(['Jürgen']);
  expect(verified.subject('O').toSorted()).toEqual(['one', 'other']);
  const keyUsage = parseCertificate(certificate.raw).extensions.get('2.5.29.15');
  expect([keyUsage?.isCritical, keyUsage?.value.toString('hex')]).toEqual([true, '030205a0']);
});

test.each([
  { usages: ['client auth'], bits: undefined },
  { usages: ['digital signature'], bits: '03020780' },
  { usages: ['key encipherment'], bits: '03020520' },
])('the usages $usages are the bits $bits', async ({ usages, bits }) => {
  const certificate = await sign({ subject: [['CN', 'a']] }, { usages });
  const { extensions } = parseCertificate(certificate.raw);
  expect(extensions.get('2.5.29.15')?.value.toString('hex')).toBe(bits);
  expect(extensions.has('2.5.29.37')).toBe(usages.includes('client auth'));
});

test('attributes that give a user more than a name and groups are left out', async () => {
  const uid = '1.3.6.1.4.1.57683.2';
  const certificate = await sign({
    subject: [
      ['CN', 'old'],
      [uid, 'forged'],
      ['CN', 'ann'],
      ['E', 'a@b.example'],
    ],
  });
  expect(certificate.subject).toBe('CN=ann');
  expect(parseCertificate(certificate.raw).subject(uid)).toEqual([]);
});

test('names of hosts, addresses, mail and URIs are taken over, and nothing else that a request wants', async () => {
  const certificate = await sign({
    subject: [],
    names: [
      [nameTags.uri, Buffer.from('spiffe://a/b')],
      [nameTags.dns, Buffer.from('a.example')],
      [nameTags.email, Buffer.from('a@b.example')],
      [nameTags.ip, Buffer.from([10, 0, 0, 1])],
      [registeredId, Buffer.from([0x2a, 3])],
    ],
  });
  expect(certificate.subjectAltName).toBe('DNS:a.example, email:a@b.example, IP Address:10.0.0.1, URI:spiffe://a/b');
  // There is no other name.
  expect(parseCertificate(certificate.raw).extensions.get('2.5.29.17')?.isCritical).toBe(true);
});

test('a malformed extension is refused', async () => {
  const sent = sign({ subject: [['CN', 'a']], malformedNames: Buffer.from('30ff', 'hex') });
  await expect(sent).rejects.toThrow('x509: malformed extension request');
});

test('a time after 2049 has its century', async () => {
  const certificate = await sign({ subject: [['CN', 'a']] }, { notAfterMs: Date.UTC(2061, 5, 7) });
  expect(certificate.validToDate.getTime()).toBe(Date.UTC(2061, 5, 7));
});

test('a long name has a long length', async () => {
  const value = 'x'.repeat(60_000);
  const groups = ['a', 'b', 'c'].map((group) => ['O', group + value] as const);
  const certificate = await sign({ subject: [['CN', 'a'], ...groups] });
  expect(parseCertificate(certificate.raw).subject('2.5.4.10')).toEqual(groups.map(([, group]) => group));
});

describe('keys of', () => {
  test.each(['P-384', 'RSA', 'Ed25519'] as const)('%s are certified', async (algorithm) => {
    const certificate = await sign({ subject: [['CN', 'a']], algorithm });
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  });

  test.each([
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ec', { namedCurve: 'secp521r1' }),
    generateKeyPairSync('ed25519'),
  ])('authorities sign', async ({ publicKey, privateKey }) => {
    const about = { subject: 'b', issuer: 'b', publicKey: encodePublicKey(publicKey), authority: true };
    const other = {
      certificate: new X509Certificate(forgeCertificate(about)).toString(),
      privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    };
    const certificate = await sign({ subject: [['CN', 'a']] }, { by: other });
    expect(certificate.verify(publicKey)).toBe(true);
  });
});

test('a certificate that is none of an authority, and the key of another one, are refused', async () => {
  const issued = await (await testAuthority('a')).issue({ subject: [['CN', 'a']] });
  expect(() => openSigner(issued)).toThrow('it is not the certificate of an authority');
  const other = await testAuthority('b');
  expect(() => openSigner({ ...authority, privateKey: other.privateKey })).toThrow('does not belong');
});
