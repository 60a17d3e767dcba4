/** The guarantees of a Transformer, as tests for every implementation. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Transformed, Transformer } from '../../src/transform/transformer.ts';

export interface TransformerUnderTest {
  readonly transformer: Transformer;
  /** Whether stored values reveal nothing of the value. */
  readonly hides: boolean;
  /** What it detects: changed and moved values, changed ones, or neither. */
  readonly authenticates: 'value and place' | 'value' | 'nothing';
}

const etcdKey = '/registry/serviceaccounts/a/robot';
const canary = 'canary-5f3a';
const values = {
  'an object': `{"kind":"ServiceAccount","metadata":{"name":"${canary}"}}`,
  'a block of sixteen bytes': '0123456789abcdef',
  'one byte': 'x',
  nothing: '',
  'a megabyte': `${canary}${'é'.repeat(500_000)}`,
};

export function describeTransformerContract(what: string, open: () => Promise<TransformerUnderTest>): void {
  describe(`${what} fulfils the contract of a transformer:`, () => {
    let subject: TransformerUnderTest;
    let transformer: Transformer;
    beforeAll(async () => {
      subject = await open();
      transformer = subject.transformer;
    });
    const write = async (value: string, key = etcdKey): Promise<Buffer> =>
      Buffer.concat(await transformer.toStorage(Buffer.from(value), key));
    const read = async (value: Buffer, key = etcdKey): Promise<Transformed> => transformer.fromStorage(value, key);
    const refused = (value: Buffer, key = etcdKey): Promise<boolean> =>
      read(value, key).then(
        () => false,
        () => true,
      );

    test.each(Object.entries(values))('%s is read as it was written, and is not stale', async (_, value) => {
      const { value: found, stale } = await read(await write(value));
      expect(found.toString()).toBe(value);
      expect(stale).toBe(false);
    });

    test('stored values reveal nothing of the value, and never repeat', async () => {
      const written = await Promise.all(Array.from({ length: 200 }, () => write(values['an object'])));
      if (!subject.hides) return expect(written.every((one) => one.includes(canary))).toBe(true);
      expect(written.some((one) => one.includes(canary))).toBe(false);
      expect(new Set(written.map((one) => one.toString('hex'))).size).toBe(200);
    });

    test('a truncated value is refused, wherever it is cut', async () => {
      if (subject.authenticates === 'nothing') return;
      const written = await write(values['an object']);
      const cuts = Array.from(written, (_, length) => written.subarray(0, length));
      expect(await Promise.all(cuts.map((cut) => refused(cut)))).not.toContain(false);
    });

    test('a value with appended bytes is refused', async () => {
      if (subject.authenticates === 'nothing') return;
      expect(await refused(Buffer.concat([await write('x'), Buffer.from([0])]))).toBe(true);
    });

    test('a value under another key is refused if the key is authenticated', async () => {
      const moved = await refused(await write(values['an object']), '/registry/serviceaccounts/b/robot');
      expect(moved).toBe(subject.authenticates === 'value and place');
    });

    test('a value with any flipped bit is refused', async () => {
      if (subject.authenticates === 'nothing') return;
      const written = await write(values['an object']);
      const accepted: number[] = [];
      for (let bit = 0; bit < written.length * 8; bit++) {
        const flip = (): void => void written.writeUInt8(written.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        flip();
        if (!(await refused(written))) accepted.push(bit);
        flip();
      }
      expect(accepted).toEqual([]);
    });

    test('an error reveals nothing of the value', async () => {
      const written = await write(values['an object']);
      const error = await read(written.subarray(0, 20)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(String(error)).not.toContain(canary);
    });
  });
}
