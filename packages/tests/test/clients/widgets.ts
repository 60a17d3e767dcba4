import { until } from '@cluster-apiserver/testkit/until';
import type { TestServer } from '../serve-kinds.ts';

/** A namespaced custom kind with a status, for clients that know no type of it. */
export const widgetGroup = 'clients.example.com';

export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${widgetGroup}` },
  spec: {
    group: widgetGroup,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer', minimum: 1 },
                  parts: {
                    type: 'array',
                    items: { type: 'object', properties: { name: { type: 'string' }, weight: { type: 'number' } } },
                  },
                },
              },
              status: { type: 'object', properties: { ready: { type: 'boolean' } } },
            },
          },
        },
      },
    ],
  },
};

/** Resolves when they are served. */
export async function defineWidgets({ statusOf }: Pick<TestServer, 'statusOf'>): Promise<void> {
  await statusOf('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
  const widgets = `/apis/${widgetGroup}/v1/widgets`;
  await until('the custom kind', async () => (await statusOf('GET', widgets)) === 200 || undefined);
}
