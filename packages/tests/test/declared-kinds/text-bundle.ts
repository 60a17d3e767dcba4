import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, nameColumn } from '@cluster-apiserver/model/kind';
import { boolean, bytes, field, map, stringMap } from '@cluster-apiserver/model/schema';

const fields = {
  immutable: field(4, boolean, 'If true, the data cannot be changed any more.', 'given'),
  data: field(2, stringMap, 'Texts by key.'),
  binaryData: field(3, map(bytes), 'Bytes by key, as base64 in JSON and YAML.'),
};

export const textBundle = defineKind({
  group: '',
  version: 'v1',
  kind: 'TextBundle',
  plural: 'textbundles',
  singular: 'textbundle',
  shortNames: ['tb'],
  description: 'Texts and bytes by key.',
  fields,
  validate: (written, current, problems) => {
    if (!current?.immutable) return;
    for (const name of ['data', 'binaryData', 'immutable'] as const)
      if (!sameJson(written[name], current[name]))
        problems.at(name).forbidden('field is immutable when `immutable` is set');
  },
  columns: [
    nameColumn,
    {
      name: 'Data',
      type: 'integer',
      description: 'Number of keys.',
      value: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    },
    ageColumn,
  ],
});
