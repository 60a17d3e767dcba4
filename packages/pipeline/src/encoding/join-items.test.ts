import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { JoinedItems, joinShortItems } from './join-items.ts';

const prefix = '{"kind":"Robot","apiVersion":"v1",';
const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ json: `${prefix}"metadata":{"name":"r${'x'.repeat(n % 7)}${n}"}}` }));

test.each([0, 1, 2, 30])('%d items are joined unchanged, however small the pieces', (count) => {
  const items = itemsOf(count);
  const expected = {
    kind: 'RobotList',
    items: items.map(({ json }) => ({ metadata: JSON.parse(json).metadata })),
  };
  for (let pieceBytes = 1; pieceBytes < 130; pieceBytes++) {
    const joined = new JoinedItems('{"kind":"RobotList","items":[', items, prefix.length, ']}\n');
    const pieces: Buffer[] = [];
    const next = (): Buffer | undefined => joined.next(pieceBytes, Buffer.allocUnsafe);
    for (let piece = next(); piece; piece = next()) pieces.push(piece);
    expect(pieces.every((piece) => piece.length <= pieceBytes)).toBe(true);
    const whole = Buffer.concat(pieces);
    expect(whole.length).toBe(joined.length);
    expect(JSON.parse(whole.toString())).toEqual(expected);
    expect(joinShortItems('{"kind":"RobotList","items":[', items, prefix.length, ']}\n')).toBe(whole.toString());
  }
});

test('lists that were sent are not promoted by V8', () => {
  const steps = 50;
  const items = itemsOf(900);
  const join = (): number => {
    const joined = new JoinedItems('[', [...items], prefix.length, ']');
    return joined.next(joined.length, Buffer.allocUnsafe)?.length ?? 0;
  };
  const bytesPerReference = 8;
  expect(promotedBytes(steps, join)).toBeLessThan((steps * items.length * bytesPerReference) / 2);
});
