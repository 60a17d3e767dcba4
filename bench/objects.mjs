// The objects that workloads read and write: service accounts, and objects of the same size and shape of a kind that is defined.
const text = { type: 'string' };
const names = { type: 'array', items: { type: 'object', properties: { name: text } } };

/** @typedef {{ root: string, apiVersion: string, kind: string, plural: string, definition?: object }} Objects */

/** @type {Objects} */
export const builtIn = { root: '/api/v1', apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' };

/** @type {Objects} */
export const custom = {
  root: '/apis/bench.example.com/v1',
  apiVersion: 'bench.example.com/v1',
  kind: 'Account',
  plural: 'accounts',
  definition: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'accounts.bench.example.com' },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural: 'accounts', singular: 'account', kind: 'Account' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { secrets: names, imagePullSecrets: names } } },
        },
      ],
    },
  },
};
