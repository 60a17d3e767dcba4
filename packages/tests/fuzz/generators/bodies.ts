import type { Random } from '@cluster-apiserver/base';
import { protobufBytes, protobufType, withBrokenBytes } from '../../test/hostile/bodies.ts';
import { choose } from '../../test/hostile/choose.ts';
import { mutateJson } from '../mutate-json.ts';
import { mutateProtobuf } from '../mutate-protobuf.ts';
import { mutateYaml } from '../mutate-yaml.ts';
import { request, type Generator } from './generator.ts';
import { bodyTargets, fuzzNamespaces, objectNames, objectPath } from './targets.ts';

const bodyOf =
  (contentTypes: readonly string[], make: (random: Random, value: object, name: string) => Buffer): Generator =>
  (random, context) => {
    const target = choose(random, bodyTargets);
    const name = choose(random, objectNames);
    return request(random, context, {
      method: choose(random, target.methods),
      target: `${target.path(choose(random, fuzzNamespaces), name)}${choose(random, queries)}`,
      body: { contentType: choose(random, contentTypes), bytes: make(random, target.body(name, random), name) },
    });
  };

const queries = ['', '', '', '', '?fieldValidation=Strict', '?fieldValidation=Ignore', '?dryRun=All', '?pretty=1'];

export const jsonBody = bodyOf(
  ['application/json', 'application/json', 'application/json;charset=utf-8'],
  (random, value) => withBrokenBytes(random, Buffer.from(mutateJson(random, value))),
);

export const yamlBody = bodyOf(['application/yaml'], (random, value) =>
  withBrokenBytes(random, Buffer.from(mutateYaml(random, value))),
);

export const protobufBody = bodyOf([protobufType], (random, _, name) => {
  let bytes = protobufBytes(random, name);
  for (let changes = random.below(3); changes > 0; changes--) bytes = mutateProtobuf(random, bytes);
  return bytes;
});

const operations = ['add', 'remove', 'replace', 'move', 'copy', 'test', 'Add', '', 'merge'];
const pointers = [
  ...['', '/', '/metadata', '/metadata/labels', '/metadata/labels/app', '/metadata/labels/a.b~1c', '/secrets', '/kind'],
  ...['/secrets/0', '/secrets/-', '/secrets/1/name', '/secrets/01', '/secrets/99', '/metadata/name', '/metadata/uid'],
  ...['/metadata/managedFields', '/metadata/ownerReferences/0', '/__proto__/x', '/constructor', '/a/b/c', 'no-slash'],
  ...['/spec', '/spec/color', '/spec/bulbs', '/spec/x', '/status/bulbs'],
  ...['/metadata/annotations/x', '/~', '/~2', '//', '/metadata/finalizers/-', '/secrets/18446744073709551616'],
];
const patchValues: readonly unknown[] = [null, 0, 'x', true, {}, [], ['a'], { a: { b: {} } }, [{ name: 's-1' }], 1e21];

const jsonPatch = (random: Random): unknown =>
  Array.from({ length: 1 + random.below(choose(random, [3, 8, 60])) }, () => ({
    op: choose(random, operations.slice(0, random.below(8) === 0 ? undefined : 6)),
    path: choose(random, pointers),
    from: choose(random, pointers),
    value: choose(random, patchValues),
  }));

/** Part of the object, including the directives of strategic merge patches. */
const strategicPatch = (random: Random): unknown => ({
  metadata: {
    labels: choose(random, [{ app: null }, { $patch: 'replace', a: 'b' }, { $retainKeys: ['app'] }, null]),
    finalizers: ['a.b/c'],
    [choose(random, ['$deleteFromPrimitiveList/finalizers', '$setElementOrder/finalizers', '$patch', '$x/y'])]: choose(
      random,
      [['a.b/c'], [], 'delete', 'replace', null, [1]],
    ),
  },
  secrets: Array.from({ length: random.below(4) }, () =>
    choose<object>(random, [
      { name: 's-1' },
      { name: 's-1', $patch: 'delete' },
      { $patch: 'replace' },
      { namespace: 'no-name' },
      { name: 's-9', uid: 'u' },
    ]),
  ),
  '$setElementOrder/secrets': choose<unknown>(random, [[{ name: 's-2' }, { name: 's-1' }], [{}], 'x', [], undefined]),
});

const mergePatch = (random: Random): unknown => ({
  metadata: { labels: { app: null, b: 'c' }, annotations: choose<unknown>(random, [null, { a: null }, 'x']) },
  secrets: choose<unknown>(random, [null, [], [{ name: 'x' }], {}]),
  kind: choose(random, ['ServiceAccount', 'X', null]),
});

const patchForms: readonly { readonly contentType: string; readonly make: (random: Random) => string }[] = [
  { contentType: 'application/json-patch+json', make: (random) => mutateJson(random, jsonPatch(random), 2) },
  { contentType: 'application/merge-patch+json', make: (random) => mutateJson(random, mergePatch(random), 2) },
  {
    contentType: 'application/strategic-merge-patch+json',
    make: (random) => mutateJson(random, strategicPatch(random), 2),
  },
];

const replaceable = bodyTargets.filter(({ methods }) => methods.includes('PUT'));

/** A server-side apply of an object that a replacement could send. */
const application: Generator = (random, context) => {
  const target = choose(random, replaceable);
  const name = choose(random, objectNames);
  const value = target.body(name, random);
  const text = random.below(2) === 0 ? mutateJson(random, value, 2) : mutateYaml(random, value);
  return request(random, context, {
    method: 'PATCH',
    target: `${target.path(choose(random, fuzzNamespaces), name)}${choose(random, managers)}`,
    body: { contentType: 'application/apply-patch+yaml', bytes: Buffer.from(text) },
  });
};
const managers = ['', '?fieldManager=m', '?fieldManager=m&force=true', '?fieldManager=m&dryRun=All'];

export const patch: Generator = (random, context) => {
  if (random.below(patchForms.length + 1) === 0) return application(random, context);
  const { contentType, make } = choose(random, patchForms);
  return request(random, context, {
    method: 'PATCH',
    target: `${objectPath(random)}${choose(random, managers)}`,
    body: { contentType, bytes: Buffer.from(make(random)) },
  });
};
