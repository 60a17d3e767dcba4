/** What operators copy from the documentation works. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { loadAuthenticationConfiguration, loadEgressSelectorConfiguration } from '@cluster-apiserver/config';

const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'authentication.md');
const files = [...fs.readFileSync(page, 'utf8').matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);
const flags = { disallowedIssuers: [], anonymousAuthGiven: false, egressSelectors: [] };

test('the files of the page on authentication can be read', () => {
  expect(files.map((text) => /^kind: (.*)$/m.exec(text)?.[1])).toEqual([
    'AuthenticationConfiguration',
    'EgressSelectorConfiguration',
  ]);
  const [authentication = '', egress = ''] = files;
  expect(loadAuthenticationConfiguration(authentication, flags)).toMatchObject({
    jwt: [{ issuer: { url: 'https://login.example.com' } }],
    anonymous: { paths: ['/livez', '/readyz'] },
  });
  expect(loadEgressSelectorConfiguration(egress)).toEqual(new Map([['cluster', { socket: '/run/proxy.sock' }]]));
});
