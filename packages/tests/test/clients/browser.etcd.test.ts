import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { describeIf } from '../describe-if.ts';
import { connectKubectl, hasKubectl, type Kubectl } from '../kubectl/kubectl.ts';
import { serveKinds, type TestServer } from '../serve-kinds.ts';
import { type Browser, chromium, openBrowser } from './browser.ts';
import { defineWidgets } from './widgets.ts';

// The page /docs as a person sees it: through `kubectl proxy`, in a browser.

const slowTestMs = 180_000;
const hasBrowser = spawnSync(chromium, ['--version']).status === 0;

describeIf(hasBrowser && hasKubectl, 'the API reference in Chromium', 'there is no Chromium, or no kubectl', () => {
  const cleanup = new CleanupStack();
  let server: TestServer;
  let kubectl: Kubectl;
  let browser: Browser;

  beforeAll(async () => {
    server = await serveKinds(kinds, { flags: ['--authorization-mode=RBAC'] });
    cleanup.defer('server', () => server.close());
    await defineWidgets(server);
    const credentials = { url: server.url, ca: server.certificate, token: server.token };
    await server.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'api-reference' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:api-reference' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
    });
    kubectl = connectKubectl(credentials, ['--as=ada']);
    cleanup.defer('kubectl', () => kubectl.close());
    browser = await openBrowser();
    cleanup.defer('browser', () => browser.close());
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  test(
    'an ordinary user sees the operations of a custom kind, and follows a link to its fields',
    async () => {
      const proxy = kubectl.start('proxy --port=0');
      const [url = ''] = /127\.0\.0\.1:\d+/.exec(await proxy.waitForOutput(/Starting to serve on .*/)) ?? [];
      await browser.open(`http://${url}/docs`);
      expect(await browser.evaluate('document.title')).toBe('API reference');
      const create = 'createClientsExampleComV1NamespacedWidget';
      expect(await browser.evaluate(`document.querySelector('nav').checkVisibility()`)).toBe(true);
      expect(await browser.evaluate(`document.querySelector('nav details').open`)).toBe(false);
      await browser.evaluate(`document.querySelector('nav a[href="#${create}"]').closest('details').open = true`);
      await browser.evaluate(`document.querySelector('nav a[href="#${create}"]').click()`);
      expect(await browser.evaluate(textAtTop(create))).toContain(
        'POST /apis/clients.example.com/v1/namespaces/{namespace}/widgets',
      );
      await browser.evaluate(`document.querySelector('#${create} a[href$="v1.Widget"]').click()`);
      expect(await browser.evaluate(textAtTop('com.example.clients.v1.Widget'))).toContain('spec');
      expect(browser.errors).toEqual([]);
    },
    slowTestMs,
  );

  test('errors of a page are noticed', async () => {
    await browser.open(
      `data:text/html,<meta http-equiv=Content-Security-Policy content="default-src 'none'"><img src=x:y>`,
    );
    expect(browser.errors).not.toEqual([]);
  });
});

/** The text of the element if it is at the top of what is visible. */
const textAtTop = (id: string): string => `(() => {
  const element = document.getElementById('${id}');
  const { top, height } = element.getBoundingClientRect();
  return Math.abs(top) < 5 && height > 50 ? element.innerText : 'it is at ' + top;
})()`;
