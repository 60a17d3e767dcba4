import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { generateKeyPairSync, type KeyObject, sign, X509Certificate as OpenSslCertificate } from 'node:crypto';
import {
  attribute,
  element,
  encodePublicKey,
  extension,
  forgeCertificate,
  forgeRsaKey,
  objectIdentifier,
  sequence,
} from '../test/forged-certificate.ts';
import { derOf, testAuthority } from '../test/test-authority.ts';
import { readAuthorities, verifyClient } from './index.ts';
import { generateKeyPair } from './keys.ts';
import { parseCertificate } from './certificate.ts';

/** The keys of all signature checks. */
let checked: KeyObject[];
let verify: jest.SpiedFunction<OpenSslCertificate['verify']>;
beforeEach(() => {
  checked = [];
  const check = OpenSslCertificate.prototype.verify;
  verify = jest.spyOn(OpenSslCertificate.prototype, 'verify').mockImplementation(function (
    this: OpenSslCertificate,
    key: KeyObject,
  ) {
    checked.push(key);
    return check.call(this, key);
  });
});
afterEach(() => verify.mockRestore());

const isTrusted = (chain: readonly Buffer[], trusted: string): boolean => {
  try {
    verifyClient(chain, readAuthorities(trusted), systemClock.now());
    return true;
  } catch {
    return false;
  }
};
const leafKey = encodePublicKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
const forgedCas = 9;

describe('a chain that no trusted CA has signed', () => {
  const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  const binary = generateKeyPairSync('ec', { namedCurve: 'sect571r1' });
  const keys: [string, Buffer, ((body: Buffer) => Buffer) | undefined][] = [
    ['RSA of 16,384 bits with an exponent of 64 bits', forgeRsaKey(16_384, Buffer.alloc(8, 0xff)), undefined],
    ['RSA of 8,192 bits', forgeRsaKey(8_192, Buffer.of(1, 0, 1)), undefined],
    ['P-521', encodePublicKey(p521.publicKey), (body) => sign('sha256', body, p521.privateKey)],
    ['a binary curve', encodePublicKey(binary.publicKey), (body) => sign('sha256', body, binary.privateKey)],
  ];
  const shapes: [string, (at: number) => { subject: string; issuer: string }][] = [
    ['one subject and one key', () => ({ subject: 'ca', issuer: 'ca' })],
    ['a line', (at) => ({ subject: at === 0 ? 'ca' : `ca-${at}`, issuer: `ca-${at + 1}` })],
    ['a ring', (at) => ({ subject: at === 0 ? 'ca' : `ca-${at}`, issuer: at === 8 ? 'ca' : `ca-${at + 1}` })],
    ['the name of the trusted CA as issuer', () => ({ subject: 'ca', issuer: 'root' })],
    ['the name of the trusted CA', () => ({ subject: 'root', issuer: 'root' })],
  ];
  const cases = keys.flatMap(([key, publicKey, signed]) =>
    shapes.map(([shape, names]) => [key, shape, publicKey, signed, names] as const),
  );
  test.each(cases)(
    'of %s, with %s, is checked with the trusted key alone',
    async (_, shape, publicKey, signed, names) => {
      const root = await testAuthority('root');
      const issuer = shape === 'the name of the trusted CA' ? 'root' : 'ca';
      const signing = signed ? { sign: signed } : {};
      const chain = [
        forgeCertificate({ subject: 'ann', issuer, publicKey: leafKey, ...signing }),
        ...Array.from({ length: forgedCas }, (_, at) =>
          forgeCertificate({ ...names(at), publicKey, authority: true, ...signing }),
        ),
      ];
      expect(isTrusted(chain, root.certificate)).toBe(false);
      expect(checked.length).toBeLessThanOrEqual(10);
      const trusted = new OpenSslCertificate(root.certificate).publicKey;
      expect(checked.filter((key) => !key.equals(trusted))).toEqual([]);
    },
  );
});

test('CAs below a trusted one that have cross-signed each other cost ten checks', async () => {
  const root = await testAuthority('root');
  const keys = await generateKeyPair();
  const ring = await Promise.all(Array.from({ length: 8 }, () => root.intermediate('ring', { keys })));
  const crossed = await Promise.all(ring.map((ca) => ca.intermediate('ring', { keys })));
  const { certificate: stranger } = await (await testAuthority('ring')).issue({ subject: [['CN', 'ann']] });
  const chain = [
    stranger,
    ...ring.slice(0, 5).map((ca) => ca.certificate),
    ...crossed.slice(0, 4).map((ca) => ca.certificate),
  ];
  expect(isTrusted(derOf(chain.join('')), root.certificate)).toBe(false);
  expect(checked.length).toBeLessThanOrEqual(10);
});

test('the CAs of clients and of front proxies share the checks of a chain', async () => {
  const root = await testAuthority('root');
  const lower = await root.intermediate('lower');
  const chain = derOf((await lower.issue({ subject: [['CN', 'ann']] })).chain);
  const [clients, proxies] = [readAuthorities(root.certificate), readAuthorities(root.certificate + lower.certificate)];
  const nowMs = systemClock.now();
  verifyClient(chain, clients, nowMs);
  expect(checked.length).toBe(2);
  verifyClient(chain, clients, nowMs);
  expect(checked.length).toBe(2);
  verifyClient(chain, proxies, nowMs);
  // Only the pairs with the other file's own copies are new.
  expect(checked.length).toBeLessThanOrEqual(4);
});

test('the longest chain is verified', async () => {
  const root = await testAuthority('root');
  let lowest = root;
  for (let level = 0; level < forgedCas; level++) lowest = await lowest.intermediate(`level-${level}`);
  expect(isTrusted(derOf((await lowest.issue({ subject: [['CN', 'ann']] })).chain), root.certificate)).toBe(true);
  expect(checked.length).toBe(10);
});

describe('a key is refused', () => {
  test.each<[string, Buffer]>([
    ['RSA of 512 bits', forgeRsaKey(512, Buffer.of(1, 0, 1))],
    ['RSA of more than 8,192 bits', forgeRsaKey(8_448, Buffer.of(1, 0, 1))],
    ['RSA with the exponent 1', forgeRsaKey(2_048, Buffer.of(1))],
    ['RSA with an even exponent', forgeRsaKey(2_048, Buffer.of(1, 0, 0))],
    ['RSA with an exponent above 2^32', forgeRsaKey(2_048, Buffer.of(1, 0, 0, 0, 1))],
    ['secp256k1', encodePublicKey(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey)],
  ])('%s, of a client and of a CA', async (_, publicKey) => {
    const root = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const signing = { sign: (body: Buffer) => sign('sha256', body, root.privateKey) };
    const trusted = forgeCertificate({
      ...signing,
      subject: 'root',
      issuer: 'root',
      publicKey: encodePublicKey(root.publicKey),
      authority: true,
    });
    const pem = new OpenSslCertificate(trusted).toString();
    const client = (key: Buffer): Buffer =>
      forgeCertificate({ ...signing, subject: 'ann', issuer: 'root', publicKey: key });
    expect(isTrusted([client(leafKey)], pem)).toBe(true);
    expect(isTrusted([client(publicKey)], pem)).toBe(false);
    checked = [];
    const authority = new OpenSslCertificate(
      forgeCertificate({ subject: 'root', issuer: 'root', publicKey, authority: true }),
    ).toString();
    expect(isTrusted([client(leafKey)], authority)).toBe(false);
    expect(checked).toEqual([]);
  });
});

describe('the subject', () => {
  const subjectOf = (...attributes: Buffer[]): readonly string[] =>
    parseCertificate(forgeCertificate({ subject: 'ann', issuer: 'root', publicKey: leafKey, attributes })).subject(
      '2.5.4.10',
    );

  test.each<[string, number, Buffer, string]>([
    ['UTF8String', 0x0c, Buffer.from('dévs'), 'dévs'],
    ['NumericString', 0x12, Buffer.from('4711'), '4711'],
    ['PrintableString', 0x13, Buffer.from('devs'), 'devs'],
    ['T61String', 0x14, Buffer.from('dévs', 'latin1'), 'dévs'],
    ['IA5String', 0x16, Buffer.from('devs@a'), 'devs@a'],
    ['BMPString', 0x1e, Buffer.from('dévs', 'utf16le').swap16(), 'dévs'],
  ])('is read from a %s', (_, tag, bytes, text) => {
    expect(subjectOf(attribute('55040a', tag, bytes))).toEqual([text]);
  });

  test.each<[string, number, Buffer]>([
    ['bytes that are no UTF-8', 0x0c, Buffer.of(0xff)],
    ['a PrintableString with other bytes', 0x13, Buffer.of(0xe9)],
    ['half of a BMPString', 0x1e, Buffer.of(0)],
    ['a number', 0x02, Buffer.of(1)],
  ])('is refused with %s', (_, tag, bytes) => {
    expect(() => subjectOf(attribute('55040a', tag, bytes))).toThrow();
  });
});

test('thousands of attributes, extensions and usages are read once each', () => {
  const many = 2_000;
  const reads = jest.spyOn(Buffer.prototype, 'subarray');
  try {
    const certificate = parseCertificate(
      forgeCertificate({
        subject: 'ann',
        issuer: 'root',
        publicKey: leafKey,
        attributes: Array.from({ length: many }, () => attribute('55040a', 0x0c, Buffer.from('a'))),
        extensions: [
          extension('551d25', sequence(...Array.from({ length: many }, () => objectIdentifier('2a0304')))),
          extension('551d11', sequence(...Array.from({ length: many }, () => element(0x82, Buffer.from('a'))))),
        ],
      }),
    );
    // Names and usages that nobody asked for are not read.
    expect(reads.mock.calls.length).toBeLessThan(100);
    expect(certificate.subject('2.5.4.10')).toHaveLength(many);
    expect(reads.mock.calls.length).toBeLessThan(5 * many);
  } finally {
    reads.mockRestore();
  }
});
