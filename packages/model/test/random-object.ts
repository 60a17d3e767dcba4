import { setOwn } from '@cluster-apiserver/base';
import { rawNumber } from '../src/json/raw-number.ts';
import type { ObjectSchema, Schema } from '../src/schema/schema.ts';
import { type Draws, oneOf, randomMap, randomName } from './random-json.ts';

/**
 * An object of a form as parsed JSON: each field that has a number there or not, and each value one of those that go
 * wrong elsewhere.
 */
export function randomObject(random: Draws, schema: ObjectSchema, size = { left: sizeMax }): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const field of schema.fields.values())
    if (field.number !== undefined && size.left-- > 0 && random.below(3) > 0)
      // Of a list that may be given and empty, protobuf keeps only the items.
      object[field.name] = randomValue(random, field.schema, size, field.presence === 'given' ? 1 : 0);
  return schema.embedded ? { ...object, ...randomObject(random, schema.embedded.schema, size) } : object;
}

/** Fields that are looked at: some forms contain themselves. */
const sizeMax = 1_000;
type Size = Parameters<typeof randomObject>[2];

const randomValue = (random: Draws, schema: Schema, size: Size, itemsMin = 0): unknown =>
  schema.type === 'list'
    ? Array.from({ length: itemsMin + random.below(4) }, () => randomOf(random, schema.items, size))
    : randomOf(random, schema, size);

const texts = ['', 'x', 'ünïcödé', '\0', '\u{1F600}', 'a'.repeat(300)];
const integers = {
  int32: [0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)],
  int64: [0, 1, -1, 2 ** 40, -(2 ** 40), rawNumber('9223372036854775807'), rawNumber('-9223372036854775808')],
};
const seconds = ['0000-01-01T00:00:00', '0001-01-01T00:00:01', '1970-01-01T00:00:00', '9999-12-31T23:59:59'];

function randomOf(random: Draws, schema: Schema, size: Size): unknown {
  switch (schema.type) {
    case 'string':
      return oneOf(random, texts);
    case 'bytes':
      return oneOf(random, ['', 'AA==', '/+8=', 'YWJj'.repeat(100)]);
    case 'boolean':
      return random.below(2) === 0;
    case 'int32':
    case 'int64':
      return oneOf(random, integers[schema.type]);
    case 'double':
      return oneOf(random, [0, 1.5, -1e300, 5e-324]);
    case 'intOrString':
      return oneOf(random, [...texts, ...integers.int32]);
    case 'quantity':
      return oneOf(random, ['0', '500m', '1536Mi', '2500e6']);
    case 'time':
      return `${oneOf(random, seconds)}Z`;
    case 'microTime':
      return `${oneOf(random, seconds)}.${oneOf(random, ['000000', '000001', '999999', '120000'])}Z`;
    case 'map': {
      const map: Record<string, unknown> = {};
      for (let left = random.below(4); left > 0; left--)
        setOwn(map, randomName(random), randomValue(random, schema.values, size));
      return map;
    }
    case 'object':
      return schema.otherwise && random.below(2) === 0
        ? randomValue(random, schema.otherwise.schema, size)
        : randomObject(random, schema, size);
    case 'any':
      return randomMap(random, 3);
    case 'list':
      throw new Error('no form has a list of lists');
  }
}
