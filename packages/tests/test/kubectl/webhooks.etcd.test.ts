import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type AdmissionWebhooks,
  respondWithLabel,
  respondWith,
  startAdmissionWebhooks,
} from '../admission/admission-webhook.ts';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl and admission webhooks', () => {
  let hooks: AdmissionWebhooks;
  let kubectl: Kubectl;
  beforeAll(async () => {
    [hooks, kubectl] = await Promise.all([startAdmissionWebhooks(), openKubectl({ errorsExpected: true })]);
  });
  afterAll(async () => {
    await kubectl.close();
    await hooks.server.stop();
  });

  const apiVersion = 'admissionregistration.k8s.io/v1';
  const configuration = (kind: string, name: string, ...webhooks: object[]): string =>
    JSON.stringify({ apiVersion, kind, metadata: { name }, webhooks });

  test('creates, shows, describes, explains and deletes both kinds', async () => {
    const age = expect.stringMatching(/^\d+s$/);
    for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']) {
      const named = `${kind.toLowerCase()}.admissionregistration.k8s.io`;
      const content = configuration(
        kind,
        'first',
        hooks.webhook('a', { rules: [] }),
        hooks.webhook('b', { rules: [] }),
      );
      expect(await kubectl.stdoutOf('create -f -', content)).toBe(`${named}/first created\n`);
      expect(await kubectl.stdoutOf('apply --server-side --force-conflicts -f -', content)).toBe(
        `${named}/first serverside-applied\n`,
      );
      expect(rows(await kubectl.stdoutOf(`get ${kind}`))).toEqual([
        ['NAME', 'WEBHOOKS', 'AGE'],
        ['first', '2', age],
      ]);
      expect(await kubectl.stdoutOf(`get ${kind} first -o jsonpath={.webhooks[*].failurePolicy}`)).toBe('Fail Fail');
      expect(await kubectl.stdoutOf(`describe ${kind} first`)).toMatch(/Timeout Seconds: +10/);
      expect(await kubectl.stdoutOf(`explain ${kind}.webhooks`)).toContain(
        'clientConfig\t<WebhookClientConfig> -required-',
      );
      expect(await kubectl.stdoutOf(`delete ${kind} first`)).toBe(`${named} "first" deleted\n`);
    }
  });

  test('shows denials, warnings and patches of webhooks', async () => {
    const rules = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] }];
    const label = hooks.webhook('label', { rules });
    const no = hooks.webhook('no', { rules, objectSelector: { matchLabels: { bad: 'yes' } } });
    await kubectl.stdoutOf('create -f -', configuration('MutatingWebhookConfiguration', 'm', label));
    await kubectl.stdoutOf('create -f -', configuration('ValidatingWebhookConfiguration', 'v', no));
    for (const kind of ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'])
      await kubectl.stdoutOf(`get ${kind}`);
    hooks.handlers.set('label', respondWithLabel('seen'));
    hooks.handlers.set('no', respondWith({ allowed: false, status: { message: 'so bad' }, warnings: ['mind this'] }));

    await kubectl.stdoutOf('create serviceaccount good');
    expect(await kubectl.stdoutOf('get serviceaccount good -o jsonpath={.metadata.labels}')).toBe('{"seen":"yes"}');
    hooks.handlers.set('label', respondWithLabel('bad'));
    expect(await kubectl.run('create serviceaccount bad')).toMatchObject({
      code: 1,
      error: expect.stringMatching(
        /Warning: mind this\n.*admission webhook "no\.hooks\.example\.com" denied the request: so bad/s,
      ),
    });
    expect(await kubectl.run('create serviceaccount bad --dry-run=server')).toMatchObject({ code: 1 });
    await kubectl.stdoutOf('delete validatingwebhookconfigurations,mutatingwebhookconfigurations --all');
  });
});
