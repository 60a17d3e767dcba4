import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { sameJson } from '@cluster-apiserver/model/json';
import { boolean, bytes, field, map, string, stringMap } from '@cluster-apiserver/model/schema';
import { dataBytesMax, decodedBytes, sum, validateDataKeys, validateImmutable } from './data-keys.ts';
import { validateDataOfType, warnOfDataOfType } from './secret-types.ts';

const fields = {
  data: field(2, map(bytes), 'The secret bytes by key, as base64 in JSON and YAML.'),
  type: field(3, string, 'Purpose of the data. Some types need certain keys. Cannot be changed.'),
  stringData: field(
    4,
    stringMap,
    'Texts by key, merged into `data` when they are written. They win over `data`, and are never returned.',
    'writeOnly',
  ),
  immutable: field(5, boolean, 'If true, data cannot be changed any more; only metadata can.', 'given'),
};

export type Secret = ObjectOf<typeof fields>;

/** Bytes that only those should see who need them: tokens, passwords, keys. */
export const secret = defineKind({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  description: 'Holds secret data, as bytes by key.',
  fields,
  defaults: withDataAndType,
  validate: (written, current, problems) => {
    const { data = {}, type = '' } = written;
    if (current) {
      if (type !== current.type) problems.at('type').invalid(type, 'field is immutable');
      validateImmutable(written, current, sameJson(written.data, current.data) ? [] : ['data'], problems);
    }
    validateDataKeys(data, problems.at('data'));
    if (sum(Object.values(data).map(decodedBytes)) > dataBytesMax) problems.at('data').tooLong(dataBytesMax);
    validateDataOfType(type, written, problems);
  },
  warnings: warnOfDataOfType,
  columns: [
    nameColumn,
    { name: 'Type', description: 'Purpose of the data.', value: ({ type = '' }) => type },
    { name: 'Data', description: 'Number of keys.', value: ({ data = {} }) => Object.keys(data).length },
    ageColumn,
  ],
  selectableFields: { type: ({ type = '' }) => type },
  indexedFields: ['type'],
  unknownSelectorField: (name) => `field label not supported: ${name}`,
});

/** Texts become data, and a secret of no other type is opaque. */
function withDataAndType(written: Secret): Secret {
  const { stringData, type } = written;
  if (type && !stringData) return written;
  const texts = Object.entries(stringData ?? {});
  return {
    ...written,
    ...(texts.length > 0 && {
      data: {
        ...written.data,
        ...Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
      },
    }),
    type: type || 'Opaque',
  };
}
