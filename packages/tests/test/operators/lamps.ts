/** The definition and the webhooks that packages/tests/operator serves. */
export const group = 'workshop.example';
export const service = { namespace: 'workshop', name: 'lamps' };
export const lampsIn = (version: string): string => `/apis/${group}/${version}/namespaces/default/lamps`;

const watts = { type: 'object', properties: { watts: { type: 'integer', minimum: 1 }, color: { type: 'string' } } };
const power = { type: 'object', properties: { power: { type: 'string' } } };

const version = (name: string, spec: object): object => ({
  name,
  served: true,
  storage: name === 'v1',
  subresources: { status: {} },
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec,
        status: {
          type: 'object',
          properties: { lit: { type: 'boolean' }, observedGeneration: { type: 'integer', format: 'int64' } },
        },
      },
    },
  },
});

export const definition = (caBundle: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `lamps.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'lamps', singular: 'lamp', kind: 'Lamp' },
    versions: [version('v1', watts), version('v1beta1', power)],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: { service: { ...service, path: '/convert' }, caBundle },
        conversionReviewVersions: ['v1'],
      },
    },
  },
});

/** Webhooks see all writes in v1. */
const webhook = (name: string, path: string, caBundle: string): object => ({
  name: `${name}.${group}`,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  clientConfig: { service: { ...service, path }, caBundle },
  rules: [{ apiGroups: [group], apiVersions: ['v1'], resources: ['lamps'], operations: ['CREATE', 'UPDATE'] }],
});

const registration = '/apis/admissionregistration.k8s.io/v1';
export const configurations = (caBundle: string): readonly (readonly [path: string, body: object])[] => [
  [
    `${registration}/mutatingwebhookconfigurations`,
    {
      metadata: { name: 'lamps' },
      webhooks: [webhook('default', '/mutate-workshop-example-v1-lamp', caBundle)],
    },
  ],
  [
    `${registration}/validatingwebhookconfigurations`,
    {
      metadata: { name: 'lamps' },
      webhooks: [webhook('validate', '/validate-workshop-example-v1-lamp', caBundle)],
    },
  ],
];
