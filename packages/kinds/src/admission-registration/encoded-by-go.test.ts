import { expect, test } from '@jest/globals';
import { byteString, decodeStored, encodeProtobuf } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { admissionRegistrationKinds } from './kinds.ts';

/** Objects with the bytes that the Go module k8s.io/api v0.36.6 encodes them as: kube-apiserver stores these in etcd. */
const encodedByGo: readonly (readonly [KubeObject, string])[] = [
  [
    {
      kind: 'ValidatingWebhookConfiguration',
      apiVersion: 'admissionregistration.k8s.io/v1',
      metadata: {
        name: 'images',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        generation: 2,
      },
      webhooks: [
        {
          name: 'images.example.com',
          clientConfig: {
            service: {
              namespace: 'tools',
              name: 'images',
              path: '/check',
              port: 8443,
            },
            caBundle: 'AAH+/w==',
          },
          rules: [
            {
              operations: ['CREATE', 'UPDATE'],
              apiGroups: [''],
              apiVersions: ['v1'],
              resources: ['events', 'serviceaccounts/token'],
              scope: 'Namespaced',
            },
          ],
          failurePolicy: 'Ignore',
          matchPolicy: 'Exact',
          namespaceSelector: {
            matchLabels: {
              team: 'a',
            },
          },
          objectSelector: {
            matchExpressions: [
              {
                key: 'app',
                operator: 'In',
                values: ['x', 'y'],
              },
            ],
          },
          sideEffects: 'None',
          timeoutSeconds: 5,
          admissionReviewVersions: ['v1'],
          matchConditions: [
            {
              name: 'c',
              expression: 'true',
            },
          ],
        },
      ],
    },
    'azhzAApBCh9hZG1pc3Npb25yZWdpc3RyYXRpb24uazhzLmlvL3YxEh5WYWxpZGF0aW5nV2ViaG9va0NvbmZpZ3VyYXRpb24SigIKQgoGaW1hZ2VzEgAaACIAKiQ0OWJhMDQ0Ny0zODc0LTQ3NjctODljNy0wNDQxNWNmNDg0OTYyADgCQggIgPfE1QYQABLDAQoSaW1hZ2VzLmV4YW1wbGUuY29tEiIKGgoFdG9vbHMSBmltYWdlcxoGL2NoZWNrIPtBEgQAAf7/GkMKBkNSRUFURQoGVVBEQVRFEjEKABICdjEaBmV2ZW50cxoVc2VydmljZWFjY291bnRzL3Rva2VuIgpOYW1lc3BhY2VkIgZJZ25vcmUqCwoJCgR0ZWFtEgFhMgROb25lOAVCAnYxSgVFeGFjdFIREg8KA2FwcBICSW4aAXgaAXlaCQoBYxIEdHJ1ZRoAIgA=',
  ],
  [
    {
      kind: 'ValidatingAdmissionPolicy',
      apiVersion: 'admissionregistration.k8s.io/v1',
      metadata: {
        name: 'names',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        generation: 1,
      },
      spec: {
        paramKind: {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
        },
        matchConstraints: {
          namespaceSelector: {},
          objectSelector: {},
          resourceRules: [
            {
              resourceNames: ['a', 'b'],
              operations: ['*'],
              apiGroups: ['*'],
              apiVersions: ['*'],
              resources: ['*/*'],
              scope: '*',
            },
          ],
          matchPolicy: 'Equivalent',
        },
        validations: [
          {
            expression: 'variables.ok',
            message: 'no',
            reason: 'Forbidden',
            messageExpression: "'no'",
          },
        ],
        failurePolicy: 'Fail',
        auditAnnotations: [
          {
            key: 'k',
            valueExpression: "'v'",
          },
        ],
        variables: [
          {
            name: 'ok',
            expression: 'true',
          },
        ],
      },
      status: {
        observedGeneration: 1,
        typeChecking: {},
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            lastTransitionTime: '2026-09-21T14:13:20Z',
            reason: 'R',
            message: 'm',
          },
        ],
      },
    },
    'azhzAAo8Ch9hZG1pc3Npb25yZWdpc3RyYXRpb24uazhzLmlvL3YxEhlWYWxpZGF0aW5nQWRtaXNzaW9uUG9saWN5EvMBCkEKBW5hbWVzEgAaACIAKiQ0OWJhMDQ0Ny0zODc0LTQ3NjctODljNy0wNDQxNWNmNDg0OTYyADgBQggIgPfE1QYQABKGAQoUCgJ2MRIOU2VydmljZUFjY291bnQSLQoAEgAaGwoBYQoBYhITCgEqEg4KASoSASoaAyovKiIBKjoKRXF1aXZhbGVudBojCgx2YXJpYWJsZXMub2sSAm5vGglGb3JiaWRkZW4iBCdubyciBEZhaWwqCAoBaxIDJ3YnOgoKAm9rEgR0cnVlGiUIARIAGh8KBVJlYWR5EgRUcnVlGAAiCAiA98TVBhAAKgFSMgFtGgAiAA==',
  ],
  [
    {
      kind: 'MutatingAdmissionPolicy',
      apiVersion: 'admissionregistration.k8s.io/v1',
      metadata: {
        name: 'labels',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        generation: 1,
      },
      spec: {
        matchConstraints: {
          namespaceSelector: {},
          objectSelector: {},
          resourceRules: [
            {
              operations: ['CREATE'],
              apiGroups: [''],
              apiVersions: ['v1'],
              resources: ['serviceaccounts'],
              scope: '*',
            },
          ],
          matchPolicy: 'Equivalent',
        },
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: '[]',
            },
          },
        ],
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
      },
    },
    'azhzAAo6Ch9hZG1pc3Npb25yZWdpc3RyYXRpb24uazhzLmlvL3YxEhdNdXRhdGluZ0FkbWlzc2lvblBvbGljeRKgAQpCCgZsYWJlbHMSABoAIgAqJDQ5YmEwNDQ3LTM4NzQtNDc2Ny04OWM3LTA0NDE1Y2Y0ODQ5NjIAOAFCCAiA98TVBhAAEloSOAoAEgAaJhIkCgZDUkVBVEUSGgoAEgJ2MRoPc2VydmljZWFjY291bnRzIgEqOgpFcXVpdmFsZW50IhESCUpTT05QYXRjaCIECgJbXSoERmFpbDoFTmV2ZXIaACIA',
  ],
];

test.each(encodedByGo.map(([object, base64]) => [object['kind'] as string, object, base64] as const))(
  'a %s is read from the bytes of Go, and from ours',
  (_, object, base64) => {
    const kind = admissionRegistrationKinds.find(({ kind }) => kind === object.kind);
    if (!kind) throw new Error(`there is no kind ${object.kind}`);
    const read = (bytes: Uint8Array): object =>
      decodeStored(byteString(kind.storage.form.renew(Buffer.from(bytes), kind).value));
    expect(read(Buffer.from(base64, 'base64'))).toEqual(object);
    expect(read(encodeProtobuf(kind.schema, object as never))).toEqual(object);
  },
);
