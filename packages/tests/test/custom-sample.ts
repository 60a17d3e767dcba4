/** A custom kind for tables over all kinds, and the definition that it is made of. */
import { runSync } from '@cluster-apiserver/base';
import { customKind } from '@cluster-apiserver/custom-resources';
import type { Kind } from '@cluster-apiserver/model/kind';

const names = { plural: 'lamps', singular: 'lamp', kind: 'Lamp', listKind: 'LampList' };
const replicas = { type: 'object', properties: { bulbs: { type: 'integer' } } };
const spec = {
  type: 'object',
  required: ['color'],
  properties: { ...replicas.properties, color: { type: 'string' }, watts: { type: 'integer', default: 40 } },
  'x-kubernetes-validations': [{ rule: "self.color != ''" }],
};

export const lampDefinition = {
  metadata: { name: 'lamps.workshop.example' },
  spec: {
    group: 'workshop.example',
    scope: 'Namespaced',
    names,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec, status: replicas } } },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.bulbs', statusReplicasPath: '.status.bulbs' } },
        additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
        selectableFields: [{ jsonPath: '.spec.color' }],
      },
    ],
  },
} as const;

/** As after the creation of the definition, which tables over kinds spare themselves. */
export const lampKind: Kind = runSync(customKind({ spec: lampDefinition.spec, status: { acceptedNames: names } }));
