import { expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { services } from '../../test/services.ts';
import { serviceAccount } from './service-account.ts';
import { byServer } from '../../test/by-server.ts';

const kind = serviceAccount(services);
const account = (fields: object): KubeObject =>
  decode(kind.schema, { metadata: { name: 'robot' }, ...fields }, () => {});
const annotated = (...names: string[]): KubeObject =>
  account({ metadata: { name: 'robot', annotations: Object.fromEntries(names.map((name) => [name, 'true'])) } });

test('of secrets only the name is stored', () => {
  const secrets = [{ name: 'a', namespace: 'elsewhere', uid: 'u' }, { kind: 'Secret' }];
  expect(kind.prepare?.(account({ secrets }), undefined, byServer)).toMatchObject({ secrets: [{ name: 'a' }, {}] });
});

test('without secrets it is stored as it is', () => {
  const given = account({ automountServiceAccountToken: false });
  expect(kind.prepare?.(given, undefined, byServer)).toBe(given);
});

const [own, upstream] = ['platform.io/enforce-mountable-secrets', 'kubernetes.io/enforce-mountable-secrets'];
test.each<[string, KubeObject, KubeObject | undefined, readonly string[]]>([
  ['a new one', annotated(upstream), undefined, [upstream]],
  ['both names', annotated(own, upstream), undefined, [own, upstream]],
  ['one that an update adds', annotated(upstream), annotated(), [upstream]],
  ['one that was there before', annotated(upstream), annotated(upstream), []],
  ['another annotation', annotated('a'), undefined, []],
])('the deprecated annotation: %s', (_, written, current, warned) => {
  expect(kind.warnings?.(written, current)).toEqual(
    warned.map((name) => expect.stringContaining(`metadata.annotations[${name}]: deprecated in v1.32+`)),
  );
});
