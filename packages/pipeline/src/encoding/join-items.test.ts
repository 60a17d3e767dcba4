import { expect, test } from '@jest/globals';
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
