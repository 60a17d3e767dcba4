/** The examples of docs/authentication.md work. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import {
  loadAuthenticationConfiguration,
  loadEgressSelectorConfiguration,
  loadKubeconfig,
} from '@cluster-apiserver/config';
import { kinds } from '@cluster-apiserver/kinds';
import { formatPath, Problems } from '@cluster-apiserver/model';
import { parseYaml } from '@cluster-apiserver/model/codec';
import { decode } from '@cluster-apiserver/model/schema';
import { services } from '../../../kinds/test/services.ts';
import { byServer } from '../../../kinds/test/by-server.ts';

const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'authentication.md');
const files = [...fs.readFileSync(page, 'utf8').matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);
const flags = { disallowedIssuers: [], anonymousAuthGiven: false, egressSelectors: [] };

test('the configuration files of the page are valid', () => {
  const ofKind = (kind: string): string[] => files.filter((text) => text.includes(`\nkind: ${kind}\n`));
  expect(
    ofKind('AuthenticationConfiguration').map((text) => loadAuthenticationConfiguration(text, flags)),
  ).toMatchObject([
    { jwt: [{ issuer: { url: 'https://login.example.com' } }], anonymous: { paths: ['/livez', '/readyz'] } },
    { anonymous: { paths: ['/.well-known/openid-configuration', '/openid/v1/jwks'] } },
  ]);
  const cluster = { socket: '/run/proxy.sock' };
  expect(ofKind('EgressSelectorConfiguration').map((text) => loadEgressSelectorConfiguration(text))).toEqual([
    new Map([['cluster', cluster]]),
  ]);
  const server = new URL('https://reviews.example.com/authenticate');
  expect(ofKind('Config').map((text) => loadKubeconfig(text))).toMatchObject([
    { server, clientKey: { file: 'apiserver.key' } },
  ]);
  for (const kind of ['ClusterRole', 'Secret'])
    expect(ofKind(kind).map((text) => faultsOfObject(kind, text))).toEqual([[]]);
  expect(files.length).toBe(6);
});

function faultsOfObject(name: string, text: string): readonly unknown[] {
  const kind = kinds(services).find((one) => one.kind === name);
  const unknownFields: string[] = [];
  const object = kind && decode(kind.schema, parseYaml(text).value, (path) => unknownFields.push(formatPath(path)));
  if (!object) return ['no such kind'];
  const problems = new Problems();
  kind.validate?.(object, undefined, problems, byServer);
  return [...unknownFields, ...problems.errors];
}
