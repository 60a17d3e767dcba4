import { defineKind } from '@cluster-apiserver/model/kind';
import {
  boolean,
  jsonField,
  int32,
  int64,
  list,
  listMap,
  microTime,
  object,
  string,
  stringMap,
  time,
} from '@cluster-apiserver/model/schema';

const port = object({ name: jsonField(string, ''), number: jsonField(int32, ''), protocol: jsonField(string, '') });

/** A kind with a field of each form. */
export const widget = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  description: '',
  qualifiedFinalizers: false,
  ownsOthers: false,
  deletedAnswer: 'object',
  fields: {
    spec: jsonField(
      object({
        namespace: jsonField(string, ''),
        size: jsonField(int32, ''),
        big: jsonField(int64, ''),
        on: jsonField(boolean, '', 'given'),
        at: jsonField(time, ''),
        exactlyAt: jsonField(microTime, ''),
        selector: jsonField(stringMap, ''),
        headers: jsonField(listMap, ''),
        ports: jsonField(list(port, { keys: ['name'] }), ''),
        tags: jsonField(list(string, 'set'), ''),
        raw: jsonField({ type: 'any' }, ''),
        'dashed-name': jsonField(string, ''),
        __under: jsonField(string, ''),
      }),
      '',
    ),
    words: jsonField(list(string, 'atomic'), ''),
  },
});
