/** The resources whose objects a load changes, a built-in and a custom one. etcd's own log judges their histories. */
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';

export interface JudgedResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  /** The API path of the group and version. */
  readonly root: string;
  /** What the names of its objects begin with in a history: their keys in etcd without the common prefix. */
  readonly prefix: string;
  /** Custom resources take no strategic merge patches, bodies name the kind, and a replacement the replaced version. */
  readonly isCustom: boolean;
}

/** Prefix of all keys in etcd. */
export const registry = '/registry/';

export const serviceAccounts: JudgedResource = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  root: '/api/v1',
  prefix: 'serviceaccounts/',
  isCustom: false,
};

const group = 'workshop.example';

/** Defined by `defineToolboxes`, with the part of a ServiceAccount that the load changes: a list of named secrets. */
export const toolboxes: JudgedResource = {
  apiVersion: `${group}/v1`,
  kind: 'Toolbox',
  plural: 'toolboxes',
  root: `/apis/${group}/v1`,
  prefix: `${group}/toolboxes/`,
  isCustom: true,
};

const judgedResources = [serviceAccounts, toolboxes] as const;

/** What a name of a history, or the beginning of one, stands for. */
export function locate(name: string): { resource: JudgedResource; namespace: string; objectName: string } {
  const resource = judgedResources.find(({ prefix }) => name.startsWith(prefix));
  if (!resource) throw new Error(`${name} is not of a judged resource`);
  const [namespace = '', objectName = ''] = name.slice(resource.prefix.length).split('/');
  return { resource, namespace, objectName };
}

export const isJudged = (name: string): boolean => judgedResources.some(({ prefix }) => name.startsWith(prefix));

/** The path of a collection, in all namespaces without one. */
export const collectionPath = ({ root, plural }: JudgedResource, namespace = ''): string =>
  namespace ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;

const secret = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };

/** Resolves when the definition is established, which means that all live replicas serve the kind. */
export async function defineToolboxes(client: Client): Promise<void> {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const name = `${toolboxes.plural}.${group}`;
  await requireSuccess(client, 'POST', definitions, {
    body: {
      metadata: { name },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: toolboxes.plural, singular: 'toolbox', kind: toolboxes.kind },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  secrets: {
                    type: 'array',
                    items: secret,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                  },
                },
              },
            },
          },
        ],
      },
    },
  });
  await until('the definition to be established', async () => {
    const read = JSON.parse((await client.request('GET', `${definitions}/${name}`)).body) as {
      readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
    };
    return (
      read.status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') || undefined
    );
  });
}
