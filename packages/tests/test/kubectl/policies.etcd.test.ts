import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';
/** Includes server defaults: kubectl shows a list that differs in defaults as changed. */
const rules = [
  { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'], scope: '*' },
];
const webhook = {
  name: 'hook.example.com',
  clientConfig: { url: 'https://hook.example.com/admit' },
  rules: [{ ...rules[0], resources: ['events'] }],
  failurePolicy: 'Ignore',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};

/** One object of each kind, and its table columns besides name and age. */
const objects: readonly { kind: string; fields: object; changed: object; header: string; cells: string }[] = [
  {
    kind: 'ValidatingAdmissionPolicy',
    fields: {
      spec: {
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: "object.metadata.name != 'root'", message: 'root is taken' }],
      },
    },
    changed: {
      spec: {
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: "object.metadata.name != 'admin'", message: 'admin is taken' }],
      },
    },
    header: 'VALIDATIONS PARAMKIND',
    cells: '1 <unset>',
  },
  {
    kind: 'ValidatingAdmissionPolicyBinding',
    fields: { spec: { policyName: 'one', validationActions: ['Deny'] } },
    changed: { spec: { policyName: 'one', validationActions: ['Deny', 'Audit'] } },
    header: 'POLICYNAME PARAMREF',
    cells: 'one <unset>',
  },
  {
    kind: 'MutatingAdmissionPolicy',
    fields: {
      spec: {
        matchConstraints: { resourceRules: rules },
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"by": "policy"}}}' },
          },
        ],
      },
    },
    changed: {
      spec: {
        matchConstraints: { resourceRules: rules },
        reinvocationPolicy: 'IfNeeded',
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: { expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: {"by": "patch"}}]' },
          },
        ],
      },
    },
    header: 'MUTATIONS PARAMKIND',
    cells: '1 <unset>',
  },
  {
    kind: 'MutatingAdmissionPolicyBinding',
    fields: { spec: { policyName: 'one' } },
    changed: { spec: { policyName: 'one', matchResources: { objectSelector: { matchLabels: { a: 'b' } } } } },
    header: 'POLICYNAME PARAMREF',
    cells: 'one <unset>',
  },
  {
    kind: 'ValidatingWebhookConfiguration',
    fields: { webhooks: [webhook] },
    changed: { webhooks: [{ ...webhook, timeoutSeconds: 3 }] },
    header: 'WEBHOOKS',
    cells: '1',
  },
  {
    kind: 'MutatingWebhookConfiguration',
    fields: { webhooks: [webhook] },
    changed: { webhooks: [{ ...webhook, reinvocationPolicy: 'IfNeeded' }] },
    header: 'WEBHOOKS',
    cells: '1',
  },
];

describeWithKubectl('kubectl and admission', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  test.each(objects)(
    'creates, shows, applies and deletes a $kind',
    async ({ kind, fields, changed, header, cells }) => {
      const name = `${kind.toLowerCase()}.${apiVersion.split('/')[0]}/one`;
      const object = (more: object): string => JSON.stringify({ apiVersion, kind, metadata: { name: 'one' }, ...more });
      const isWebhook = kind.endsWith('WebhookConfiguration');
      expect(await kubectl.stdoutOf('apply -f -', object(fields))).toBe(`${name} created\n`);
      const lines = rows(await kubectl.stdoutOf(`get ${kind.toLowerCase()}`)).map((row) => row.join(' '));
      const row = lines.find((line) => line.startsWith('one ')) ?? '';
      expect([lines[0], row.replace(/\S+$/, 'AGE')]).toEqual([`NAME ${header} AGE`, `one ${cells} AGE`]);
      const described = await kubectl.stdoutOf(`describe ${kind.toLowerCase()} one`);
      expect(described).toMatch(/^Name: +one\n/);
      expect(described).toContain(`Kind:         ${kind}`);
      expect(described).toContain(isWebhook ? 'https://hook.example.com/admit\n' : 'Spec:');
      expect(await kubectl.stdoutOf('apply -f -', object(fields))).toBe(`${name} unchanged\n`);
      expect(await kubectl.stdoutOf('apply -f -', object(changed))).toBe(`${name} configured\n`);
      expect(await kubectl.stdoutOf('apply --server-side --force-conflicts -f -', object(fields))).toBe(
        `${name} serverside-applied\n`,
      );
      const { metadata } = JSON.parse(await kubectl.stdoutOf(`get ${kind.toLowerCase()} one -o json`)) as {
        metadata: { generation: number };
      };
      expect(metadata.generation).toBeGreaterThanOrEqual(2);
      expect(await kubectl.stdoutOf(`delete ${kind.toLowerCase()} one`)).toMatch(/^\S+ "one" deleted\n$/);
      const mistaken = await kubectl.run(
        'apply -f -',
        object(isWebhook ? { webhooks: [{ name: 'x' }] } : { spec: {} }),
      );
      expect([mistaken.code, mistaken.error]).toEqual([1, expect.stringContaining('is invalid')]);
    },
  );

  test('shows denials and warnings of policies', async () => {
    const policy = {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'names' },
      spec: {
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: "object.metadata.name != 'root'", message: 'root is taken' }],
      },
    };
    const binding = (actions: string[]): string =>
      JSON.stringify({
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: 'names' },
        spec: { policyName: 'names', validationActions: actions },
      });
    await kubectl.stdoutOf('apply -f -', JSON.stringify(policy));
    await kubectl.stdoutOf('apply -f -', binding(['Deny']));
    const refused = await kubectl.run('create serviceaccount root');
    expect(refused.error).toContain(
      `serviceaccounts "root" is forbidden: ValidatingAdmissionPolicy 'names' with binding 'names' denied request: root is taken`,
    );
    await kubectl.stdoutOf('apply -f -', binding(['Warn']));
    const warned = await kubectl.run('create serviceaccount root');
    expect([warned.code, warned.error]).toEqual([
      0,
      "Warning: Validation failed for ValidatingAdmissionPolicy 'names' with binding 'names': root is taken\n",
    ]);
  });
});
