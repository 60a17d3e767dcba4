import { beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { derOf, digitalSignature, serverUsage, type TestAuthority, testAuthority } from '../test/test-authority.ts';
import {
  readAuthorities,
  sharesAuthority,
  UntrustedCertificateError,
  type VerifiedCertificate,
  verifyClient,
} from './index.ts';
import { generateKeyPair } from './keys.ts';

const ann = {
  subject: [
    ['CN', 'ann'],
    ['O', 'devs'],
    ['O', 'ops'],
  ],
} as const;
const hourMs = 3_600_000;

let root: TestAuthority;
let between: TestAuthority;
beforeAll(async () => {
  root = await testAuthority('root');
  between = await root.intermediate('between');
});

const verify = (chain: string | Buffer[], trusted: string, atMs = systemClock.now()): VerifiedCertificate =>
  verifyClient(typeof chain === 'string' ? derOf(chain) : chain, readAuthorities(trusted), atMs);
const refused = (problem: RegExp) => ({ name: 'UntrustedCertificateError', message: expect.stringMatching(problem) });
const refusal = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return { name: (error as Error).name, message: (error as Error).message };
  }
};

test('a certificate signed by a CA gives its subject and its expiry', async () => {
  const { chain } = await root.issue({ ...ann, validHours: [-1, 0.5] });
  const verified = verify(chain, root.certificate);
  expect(verified.subject('CN')).toEqual(['ann']);
  expect(verified.subject('O')).toEqual(['devs', 'ops']);
  expect(verified.subject('OU')).toEqual([]);
  expect(verified.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(Math.abs(verified.validUntilMs - systemClock.now() - hourMs / 2)).toBeLessThan(hourMs / 4);
});

test('a chain expires with the first of its certificates', async () => {
  const short = await root.intermediate('short', { validHours: [-1, 0.25] });
  const { chain } = await short.issue(ann);
  expect(verify(chain, root.certificate).validUntilMs).toBeLessThan(systemClock.now() + hourMs / 2);
  expect(refusal(() => verify(chain, root.certificate, systemClock.now() + hourMs / 2))).toEqual(
    refused(/no authority that is trusted/),
  );
});

test('intermediates may come in any order, beside unrelated certificates', async () => {
  const lower = await between.intermediate('lower');
  const { chain } = await lower.issue(ann);
  const [leaf, ...others] = derOf(chain);
  const stranger = derOf((await testAuthority('stranger')).certificate);
  const shuffled = [leaf as Buffer, ...stranger, ...others.toReversed()];
  expect(verify(shuffled, root.certificate).subject('CN')).toEqual(['ann']);
  expect(verify(chain, between.certificate).subject('CN')).toEqual(['ann']);
  expect(refusal(() => verify([leaf as Buffer], root.certificate))).toEqual(refused(/no authority/));
});

test('any of several CAs is enough, and a certificate may itself be trusted', async () => {
  const other = await testAuthority('other');
  const { chain } = await root.issue(ann);
  expect(verify(chain, other.certificate + root.certificate).subject('CN')).toEqual(['ann']);
  expect(verify(chain, chain).subject('CN')).toEqual(['ann']);
});

describe('a certificate is refused', () => {
  const issue = async (from: TestAuthority, more: object = {}): Promise<string> =>
    (await from.issue({ ...ann, ...more })).chain;

  test.each<[string, () => Promise<string>, RegExp]>([
    ['that has expired', () => issue(root, { validHours: [-2, -1] }), /expired/],
    ['that is not valid yet', () => issue(root, { validHours: [1, 2] }), /not valid yet/],
    ['for servers alone', () => issue(root, { usages: [serverUsage] }), /not for clients/],
    ['of another authority with the same name', async () => issue(await testAuthority('root')), /no authority/],
    ['that has signed itself', async () => (await testAuthority('root', { ...ann })).certificate, /no authority/],
    [
      'signed by a certificate that is not a CA',
      async () => issue(await root.intermediate('no', { authority: false })),
      /no authority/,
    ],
    [
      'signed by a CA without keyCertSign',
      async () => issue(await root.intermediate('no', { keyUsage: digitalSignature })),
      /no authority/,
    ],
    [
      'below a CA for servers only',
      async () => issue(await root.intermediate('no', { usages: [serverUsage] })),
      /no authority/,
    ],
    ['below an expired CA', async () => issue(await root.intermediate('no', { validHours: [-2, -1] })), /no authority/],
    [
      'beyond the path length of its CA',
      async () => issue(await (await root.intermediate('a', { pathLength: 0 })).intermediate('b')),
      /no authority/,
    ],
    ['with an unknown critical extension', () => issue(root, { criticalExtensions: ['1.2.3.4'] }), /1\.2\.3\.4/],
    [
      'below a CA with name constraints',
      async () => issue(await root.intermediate('no', { criticalExtensions: ['2.5.29.30'] })),
      /no authority/,
    ],
  ])('%s', async (_, made, problem) => {
    const chain = await made();
    expect(refusal(() => verify(chain, root.certificate))).toEqual(refused(problem));
  });

  test('with a changed bit', async () => {
    const [der] = derOf(await issue(root)) as [Buffer];
    for (let at = 0; at < der.length; at += 3) {
      const changed = Buffer.from(der);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(refusal(() => verify([changed], root.certificate))).toMatchObject({ name: 'UntrustedCertificateError' });
    }
  });

  test('that is truncated, empty or missing', async () => {
    const [der] = derOf(await issue(root)) as [Buffer];
    const stubs = [Buffer.alloc(0), Buffer.from('x'), der.subarray(0, 100), der.subarray(0, -1)];
    for (const chain of [[], ...stubs.map((stub) => [stub]), ...stubs.map((stub) => [der, stub])])
      expect(refusal(() => verify(chain, root.certificate))).toMatchObject({ name: 'UntrustedCertificateError' });
    expect(
      refusal(() =>
        verify(
          Array.from({ length: 11 }, () => der),
          root.certificate,
        ),
      ),
    ).toEqual(refused(/too long/));
  });

  test('within a bounded time when many CAs have cross-signed each other', async () => {
    const keys = await generateKeyPair();
    const ring = await Promise.all(Array.from({ length: 9 }, () => testAuthority('ring', { keys })));
    const [leaf] = derOf(await issue(ring[0] as TestAuthority)) as [Buffer];
    const chain = [leaf, ...ring.flatMap(({ certificate }) => derOf(certificate))];
    expect(refusal(() => verify(chain, root.certificate))).toEqual(refused(/no authority/));
    expect(verify(chain.slice(0, 4), ring[5]?.certificate ?? '').subject('CN')).toEqual(['ann']);
  });
});

test('a file without certificates and a malformed one hold no CAs', () => {
  expect(() => readAuthorities('')).toThrow('there is no certificate in it');
  expect(() => readAuthorities(root.privateKey)).toThrow('there is no certificate in it');
  expect(() => readAuthorities(root.certificate.replace(/\n.{10}/, '\nAAAAAAAAAA'))).toThrow();
  // As while the file is being written.
  expect(() => readAuthorities(root.certificate + between.certificate.slice(0, -100))).toThrow('is not complete');
});

test('two files share a CA when one certificate is in both', async () => {
  const [one, other] = [readAuthorities(root.certificate), readAuthorities((await testAuthority('root')).certificate)];
  expect(sharesAuthority(one, other)).toBe(false);
  expect(sharesAuthority(one, readAuthorities(between.certificate + root.certificate))).toBe(true);
});

test("the reason shows nothing of the certificate's content", async () => {
  const { chain } = await root.issue({ subject: [['CN', 'secret\nlevel=info']], validHours: [-2, -1] });
  expect(() => verify(chain, root.certificate)).toThrow(UntrustedCertificateError);
  expect(() => verify(chain, root.certificate)).not.toThrow(/secret/);
});
