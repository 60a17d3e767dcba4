import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { sameJson } from '@cluster-apiserver/model/json';
import { boolean, bytes, field, map, stringMap } from '@cluster-apiserver/model/schema';
import { dataBytesMax, decodedBytes, sum, validateDataKeys, validateImmutable } from './data-keys.ts';

const fields = {
  data: field(2, stringMap, 'Texts by key.'),
  binaryData: field(3, map(bytes), 'Bytes by key, as base64 in JSON and YAML. No key may be in `data` too.'),
  immutable: field(4, boolean, 'If true, data cannot be changed any more; only metadata can.', 'given'),
};

export type ConfigMap = ObjectOf<typeof fields>;

/** Configuration by key, for programs to read. */
export const configMap = defineKind({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  description: 'Holds configuration data, as texts or bytes by key.',
  fields,
  validate: (written, current, problems) => {
    const { data = {}, binaryData = {} } = written;
    if (current) {
      const changed = (['data', 'binaryData'] as const).filter((name) => !sameJson(written[name], current[name]));
      validateImmutable(written, current, changed, problems);
    }
    validateDataKeys(data, problems.at('data'));
    for (const key in data)
      if (Object.hasOwn(binaryData, key))
        problems.at('data', { key }).invalid(key, 'duplicate of key present in binaryData');
    validateDataKeys(binaryData, problems.at('binaryData'));
    const size =
      sum(Object.values(data).map((text) => Buffer.byteLength(text))) +
      sum(Object.values(binaryData).map(decodedBytes));
    // Upstream names no field, and its text for none is this.
    if (size > dataBytesMax) problems.at({ key: '' }).tooLong(dataBytesMax);
  },
  columns: [
    nameColumn,
    {
      name: 'Data',
      description: 'Number of keys.',
      value: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    },
    ageColumn,
  ],
});
