import { describe, expect, test } from '@jest/globals';
import { parseResponse, chooseReviewVersion } from './admission-review.ts';
import { createDenial } from './errors.ts';

const review = (response: object): object => ({
  kind: 'AdmissionReview',
  apiVersion: 'admission.k8s.io/v1',
  response: { uid: 'u', ...response },
});
const read = (response: object, isMutating = true) =>
  parseResponse(review(response), { version: 'v1', uid: 'u', isMutating });

test.each<[string[], string | undefined]>([
  [['v1'], 'v1'],
  [['v1beta1', 'v1'], 'v1beta1'],
  [['v3', 'v2', 'v1'], 'v1'],
  [['v2'], undefined],
  [[], undefined],
])('of the versions %j the first that is known is spoken: %s', (understood, version) => {
  expect(chooseReviewVersion(understood)).toBe(version);
});

test('missing and null members of a response are empty', () => {
  const empty = {
    allowed: false,
    result: { code: 0, reason: '', message: '', details: undefined },
    patch: Buffer.alloc(0),
    auditAnnotations: new Map(),
    warnings: [],
  };
  expect(read({})).toEqual(empty);
  const nulls = { allowed: null, status: null, patch: null, patchType: null, auditAnnotations: null, warnings: null };
  expect(read(nulls)).toEqual(empty);
});

describe('A response is bounded', () => {
  test('in its message and causes', () => {
    const long = 'x'.repeat(100_000);
    const { result } = read({
      status: { message: long, details: { causes: Array.from({ length: 1000 }, () => ({ message: long })) } },
    });
    expect(result.message).toHaveLength(16 * 1024);
    expect(result.details?.causes).toHaveLength(100);
    expect(createDenial('w', result).status.message.length).toBeLessThan(17 * 1024);
  });

  test('in its warnings and audit annotations', () => {
    const many = Array.from({ length: 1000 }, (_, at) => String(at));
    const { warnings, auditAnnotations } = read({
      warnings: many,
      auditAnnotations: Object.fromEntries(many.map((key) => [`k${key}`, 'v'.repeat(100_000)])),
    });
    expect([warnings.length, auditAnnotations.size]).toEqual([100, 100]);
    expect(auditAnnotations.get('k0')).toHaveLength(10 * 1024);
  });
});

test.each<[string, object, string]>([
  ['response', { status: [] }, 'response.status: expected an object, got a list'],
  ['code', { status: { code: '400' } }, 'response.status.code: expected a whole number, got a string'],
  [
    'code beyond its type',
    { status: { code: 2 ** 40 } },
    'response.status.code: 1099511627776 does not fit into int32',
  ],
  ['message', { status: { message: {} } }, 'response.status.message: expected a string, got an object'],
  ['details', { status: { details: 'x' } }, 'response.status.details: expected an object, got a string'],
  ['causes', { status: { details: { causes: {} } } }, 'response.status.details.causes: expected a list, got an object'],
  ['audit annotation', { auditAnnotations: { a: 1 } }, 'response.auditAnnotations.a: expected a string, got a number'],
  ['patch', { patch: 'a', patchType: 'JSONPatch' }, 'response.patch: expected bytes in base64, got another string'],
])('a %s of a wrong type is refused', (_, response, problem) => {
  expect(() => read(response)).toThrow(`received invalid webhook response: ${problem}`);
});

test('inherited property names are not members', () => {
  expect(() =>
    parseResponse(JSON.parse('{"__proto__":{"response":{}}}'), { version: 'v1beta1', uid: '', isMutating: true }),
  ).toThrow('webhook response was absent');
});
