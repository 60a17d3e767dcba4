import { expect, test } from '@jest/globals';
import { decodeStored, encodeProtobuf, byteString } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { services } from '../../test/services.ts';
import { kinds } from '../index.ts';

/** Objects with the bytes that the Go module k8s.io/api v0.36.6 encodes them as: kube-apiserver stores these in etcd. */
const encodedByGo: readonly (readonly [string, KubeObject, string])[] = [
  [
    'a Role',
    {
      kind: 'Role',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: {
        name: 'reader',
        namespace: 'team',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        labels: { app: 'robot' },
      },
      rules: [
        {
          verbs: ['get', 'list'],
          apiGroups: ['', 'events.k8s.io'],
          resources: ['events', 'serviceaccounts/token'],
          resourceNames: ['a', ''],
        },
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      ],
    },
    'azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlEqMBClQKBnJlYWRlchIAGgR0ZWFtIgAqJDQ5YmEwNDQ3LTM4NzQtNDc2Ny04OWM3LTA0NDE1Y2Y0ODQ5NjIAOABCCAiA98TVBhAAWgwKA2FwcBIFcm9ib3QSQAoDZ2V0CgRsaXN0EgASDWV2ZW50cy5rOHMuaW8aBmV2ZW50cxoVc2VydmljZWFjY291bnRzL3Rva2VuIgFhIgASCQoBKhIBKhoBKhoAIgA=',
  ],
  [
    'a Role without rules',
    {
      kind: 'Role',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: {
        name: 'empty',
        namespace: 'team',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        labels: { app: 'robot' },
      },
      rules: null,
    },
    'azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlElUKUwoFZW1wdHkSABoEdGVhbSIAKiQ0OWJhMDQ0Ny0zODc0LTQ3NjctODljNy0wNDQxNWNmNDg0OTYyADgAQggIgPfE1QYQAFoMCgNhcHASBXJvYm90GgAiAA==',
  ],
  [
    'a ClusterRole that aggregates',
    {
      kind: 'ClusterRole',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: {
        name: 'system:all',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        labels: { app: 'robot' },
      },
      rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/livez/*'] }],
      aggregationRule: {
        clusterRoleSelectors: [
          { matchLabels: { a: '', 'b.io/c': 'true' } },
          {
            matchExpressions: [
              { key: 'k', operator: 'In', values: ['x', 'y'] },
              { key: 'l', operator: 'DoesNotExist' },
            ],
          },
          {},
        ],
      },
    },
    'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRKyAQpUCgpzeXN0ZW06YWxsEgAaACIAKiQ0OWJhMDQ0Ny0zODc0LTQ3NjctODljNy0wNDQxNWNmNDg0OTYyADgAQggIgPfE1QYQAFoMCgNhcHASBXJvYm90EhkKA2dldCoIL21ldHJpY3MqCC9saXZlei8qGj8KFwoFCgFhEgAKDgoGYi5pby9jEgR0cnVlCiISDQoBaxICSW4aAXgaAXkSEQoBbBIMRG9lc05vdEV4aXN0CgAaACIA',
  ],
  [
    'a RoleBinding',
    {
      kind: 'RoleBinding',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: {
        name: 'readers',
        namespace: 'team',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        labels: { app: 'robot' },
      },
      subjects: [
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' },
        { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'crew' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'team' },
      ],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    },
    'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtSb2xlQmluZGluZxL6AQpVCgdyZWFkZXJzEgAaBHRlYW0iACokNDliYTA0NDctMzg3NC00NzY3LTg5YzctMDQ0MTVjZjQ4NDk2MgA4AEIICID3xNUGEABaDAoDYXBwEgVyb2JvdBIpCgRVc2VyEhlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvGgRqYW5lIgASKgoFR3JvdXASGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8aBGNyZXciABIfCg5TZXJ2aWNlQWNjb3VudBIAGgVyb2JvdCIEdGVhbRopChlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvEgRSb2xlGgZyZWFkZXIaACIA',
  ],
  [
    'a ClusterRoleBinding without subjects',
    {
      kind: 'ClusterRoleBinding',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: {
        name: 'nobody',
        uid: '49ba0447-3874-4767-89c7-04415cf48496',
        creationTimestamp: '2026-09-21T14:13:20Z',
        labels: { app: 'robot' },
      },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    },
    'azhzAAoyChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEhJDbHVzdGVyUm9sZUJpbmRpbmcSggEKUAoGbm9ib2R5EgAaACIAKiQ0OWJhMDQ0Ny0zODc0LTQ3NjctODljNy0wNDQxNWNmNDg0OTYyADgAQggIgPfE1QYQAFoMCgNhcHASBXJvYm90Gi4KGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8SC0NsdXN0ZXJSb2xlGgR2aWV3GgAiAA==',
  ],
];

test.each(encodedByGo)('%s is read from the bytes of Go, and from ours', (_, object, base64) => {
  const kind = kinds(services).find(({ kind }) => kind === object.kind);
  if (!kind) throw new Error(`there is no kind ${object.kind}`);
  const read = (bytes: Uint8Array): object =>
    decodeStored(byteString(kind.storage.form.renew(Buffer.from(bytes), kind).value));
  expect(read(Buffer.from(base64, 'base64'))).toEqual(object);
  expect(read(encodeProtobuf(kind.schema, object as never))).toEqual(object);
});
