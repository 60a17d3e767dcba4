import { expect, test } from '@jest/globals';
import { byteString, decodeStored, encodeProtobuf } from '@cluster-apiserver/model/codec';
import { services } from '../../test/services.ts';
import { kinds } from '../index.ts';

/** With each field that a definition may have, and each form that a schema may have where the type is one of two. */
const definition = {
  kind: 'CustomResourceDefinition',
  apiVersion: 'apiextensions.k8s.io/v1',
  metadata: {
    name: 'gadgets.example.io',
    uid: '49ba0447-3874-4767-89c7-04415cf48496',
    creationTimestamp: '2026-09-21T14:13:20Z',
  },
  spec: {
    group: 'example.io',
    scope: 'Namespaced',
    names: {
      plural: 'gadgets',
      singular: 'gadget',
      kind: 'Gadget',
      listKind: 'GadgetList',
      shortNames: ['g'],
      categories: ['all'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        deprecated: true,
        deprecationWarning: 'old',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'd',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                'x-kubernetes-validations': [
                  {
                    rule: 'self.min <= self.max',
                    message: 'm',
                    messageExpression: "'x'",
                    reason: 'FieldValueInvalid',
                    fieldPath: '.min',
                    optionalOldSelf: true,
                  },
                ],
                properties: {
                  min: {
                    type: 'integer',
                    format: 'int32',
                    minimum: 0,
                    exclusiveMinimum: true,
                    maximum: 9.5,
                    multipleOf: 1,
                    default: 1,
                  },
                  max: {
                    type: 'integer',
                    nullable: true,
                  },
                  any: {
                    'x-kubernetes-preserve-unknown-fields': true,
                  },
                  port: {
                    'x-kubernetes-int-or-string': true,
                    anyOf: [
                      {
                        type: 'integer',
                      },
                      {
                        type: 'string',
                      },
                    ],
                  },
                  names: {
                    type: 'array',
                    items: {
                      type: 'string',
                      enum: ['a', 'b'],
                      minLength: 1,
                      maxLength: 0,
                      pattern: '^a',
                    },
                    minItems: 0,
                    maxItems: 3,
                    'x-kubernetes-list-type': 'set',
                  },
                  ports: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: {
                        name: {
                          type: 'string',
                        },
                      },
                    },
                  },
                  labels: {
                    type: 'object',
                    additionalProperties: {
                      type: 'string',
                    },
                    maxProperties: 4,
                    minProperties: 1,
                    'x-kubernetes-map-type': 'atomic',
                  },
                  free: {
                    type: 'object',
                    additionalProperties: true,
                  },
                  none: {
                    type: 'object',
                    not: {
                      required: ['x'],
                    },
                    oneOf: [
                      {
                        required: ['a'],
                      },
                    ],
                    allOf: [
                      {
                        required: ['b'],
                      },
                    ],
                    example: {
                      a: [1],
                    },
                    externalDocs: {
                      url: 'u',
                      description: 'e',
                    },
                    title: 't',
                  },
                  template: {
                    type: 'object',
                    'x-kubernetes-embedded-resource': true,
                    'x-kubernetes-preserve-unknown-fields': true,
                  },
                },
              },
              status: {
                type: 'object',
                properties: {
                  replicas: {
                    type: 'integer',
                  },
                },
              },
            },
          },
        },
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.min',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        additionalPrinterColumns: [
          {
            name: 'Min',
            type: 'integer',
            format: 'int32',
            description: 'c',
            priority: 1,
            jsonPath: '.spec.min',
          },
        ],
        selectableFields: [
          {
            jsonPath: '.spec.min',
          },
        ],
      },
    ],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: {
          service: {
            namespace: 'a',
            name: 'b',
            path: '/c',
            port: 443,
          },
          caBundle: 'YQ==',
        },
        conversionReviewVersions: ['v1'],
      },
    },
  },
  status: {
    conditions: [
      {
        type: 'Established',
        status: 'True',
        lastTransitionTime: '2026-09-21T14:13:20Z',
        reason: 'r',
        message: 'm',
      },
    ],
    acceptedNames: {
      plural: 'gadgets',
      kind: 'Gadget',
    },
    storedVersions: ['v1'],
  },
};

/** As the Go module k8s.io/apiextensions-apiserver v0.36.2 encodes it: kube-apiserver stores these bytes in etcd. */
const encodedByGo =
  'azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEtEMCk4KEmdhZGdldHMuZXhhbXBsZS5pbxIAGgAiACokNDliYTA0NDctMzg3NC00NzY3LTg5YzctMDQ0MTVjZjQ4NDk2MgA4AEIICID3xNUGEAASuAsKCmV4YW1wbGUuaW8aLQoHZ2FkZ2V0cxIGZ2FkZ2V0GgFnIgZHYWRnZXQqCkdhZGdldExpc3QyA2FsbCIKTmFtZXNwYWNlZDrHCgoCdjEQARgBIswJCskJCgASACIBZCoGb2JqZWN0MgA6AFAAYAB6AJABALoBBHNwZWPqAbQICgRzcGVjEqsICgASACIAKgZvYmplY3QyADoAUABgAHoAkAEA6gEoCgNhbnkSIQoAEgAiACoAMgA6AFAAYAB6AJABAKgCALACAbgCAMACAOoBMQoEZnJlZRIpCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEA8gECCAGoAgC4AgDAAgDqAWgKBmxhYmVscxJeCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEAqAEEsAEB8gEoCAESJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACANoCBmF0b21pY+oBLAoDbWF4EiUKABIAIgAqB2ludGVnZXIyADoAUABgAHoAkAEAqAIBuAIAwAIA6gFSCgNtaW4SSwoAEgAiACoHaW50ZWdlcjIFaW50MzI6AEIDCgExSQAAAAAAACNAUABZAAAAAAAAAABgAXoAkAEAmQEAAAAAAADwP6gCALgCAMACAOoBdwoFbmFtZXMSbgoAEgAiACoFYXJyYXkyADoAUABgAHoAgAEDiAEAkAEAwgE8CjoKABIAIgAqBnN0cmluZzIAOgBQAGAAaABwAXoCXmGQAQCiAQUKAyJhIqIBBQoDImIiqAIAuAIAwAIAqAIAuAIAwAIA0gIDc2V06gG0AQoEbm9uZRKrAQoAEgAiACoGb2JqZWN0MgA6AXRQAGAAegCQAQDKASIKABIAIgAqADIAOgBQAGAAegCQAQC6AQFiqAIAuAIAwAIA0gEiCgASACIAKgAyADoAUABgAHoAkAEAugEBYagCALgCAMACAOIBIgoAEgAiACoAMgA6AFAAYAB6AJABALoBAXioAgC4AgDAAgCaAgYKAWUSAXWiAgsKCXsiYSI6WzFdfagCALgCAMACAOoBdQoEcG9ydBJtCgASACIAKgAyADoAUABgAHoAkAEA2gElCgASACIAKgdpbnRlZ2VyMgA6AFAAYAB6AJABAKgCALgCAMACANoBJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAeoBmQEKBXBvcnRzEo8BCgASACIAKgVhcnJheTIAOgBQAGAAegCQAQDCAVwKWgoAEgAiACoGb2JqZWN0MgA6AFAAYAB6AJABALoBBG5hbWXqASwKBG5hbWUSJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAKgCALgCAMACAMoCBG5hbWXSAgNtYXDqATMKCHRlbXBsYXRlEicKABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQCoAgCwAgG4AgHAAgCoAgC4AgDAAgDiAjkKFHNlbGYubWluIDw9IHNlbGYubWF4EgFtGgMneCciEUZpZWxkVmFsdWVJbnZhbGlkKgQubWluMAHqAWIKBnN0YXR1cxJYCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEA6gExCghyZXBsaWNhcxIlCgASACIAKgdpbnRlZ2VyMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAKgCALgCAMACACozCgASLwoJLnNwZWMubWluEhAuc3RhdHVzLnJlcGxpY2FzGhAuc3RhdHVzLnNlbGVjdG9yMiUKA01pbhIHaW50ZWdlchoFaW50MzIiAWMoATIJLnNwZWMubWluOAFCA29sZEoLCgkuc3BlYy5taW5KIwoHV2ViaG9vaxIYEhIKDQoBYRIBYhoCL2MguwMSAWEaAnYxUAAaRAolCgtFc3RhYmxpc2hlZBIEVHJ1ZRoICID3xNUGEAAiAXIqAW0wABIVCgdnYWRnZXRzEgAiBkdhZGdldCoAGgJ2MSAAGgAiAA==';

test('a definition is read from the bytes of Go, and from ours', () => {
  const kind = kinds(services).find(({ kind }) => kind === definition.kind);
  if (!kind) throw new Error('there are no definitions');
  const read = (bytes: Uint8Array): object =>
    decodeStored(byteString(kind.storage.form.renew(Buffer.from(bytes), kind).value));
  expect(read(Buffer.from(encodedByGo, 'base64'))).toEqual(definition);
  expect(read(encodeProtobuf(kind.schema, definition as never))).toEqual(definition);
});
