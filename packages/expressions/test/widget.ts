import {
  boolean,
  defineKind,
  field,
  int32,
  int64,
  list,
  listMap,
  microTime,
  object,
  string,
  stringMap,
  subdomainNames,
  time,
} from '@cluster-apiserver/model';

const port = object({ name: field(string, ''), number: field(int32, ''), protocol: field(string, '') });

/** A kind with a field of each form. */
export const widget = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  shortNames: [],
  description: '',
  names: subdomainNames,
  qualifiedFinalizers: false,
  createOnReplace: false,
  ownsOthers: false,
  deletedAnswer: 'object',
  subresources: [],
  selectableFields: {},
  unknownSelectorField: (name) => name,
  fields: {
    spec: field(
      object({
        namespace: field(string, ''),
        size: field(int32, ''),
        big: field(int64, ''),
        on: field(boolean, '', 'given'),
        at: field(time, ''),
        exactlyAt: field(microTime, ''),
        selector: field(stringMap, ''),
        headers: field(listMap, ''),
        ports: field(list(port, { key: 'name' }), ''),
        tags: field(list(string, 'set'), ''),
        raw: field({ type: 'any' }, ''),
        'dashed-name': field(string, ''),
        __under: field(string, ''),
      }),
      '',
    ),
    words: field(list(string, 'atomic'), ''),
  },
});
