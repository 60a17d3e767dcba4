import { expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { fieldsOf, problemsOf } from '../../test/problems-of.ts';
import { namespaceKind } from './namespace.ts';
import { byServer } from '../../test/by-server.ts';

const made = (fields: object): KubeObject =>
  decode(namespaceKind.schema, { metadata: { name: 'team' }, ...fields }, () => {});
const errorsOf = (fields: object): string[] => fieldsOf(problemsOf(namespaceKind, made(fields)));
const deleted = { metadata: { name: 'team', deletionTimestamp: '2026-01-01T00:00:00Z' } };

test.each<[string, object, readonly string[]]>([
  ['no finalizers', {}, ['kubernetes']],
  ['the one of its content', { finalizers: ['kubernetes'] }, ['kubernetes']],
  ['another one', { finalizers: ['a.example/b'] }, ['a.example/b', 'kubernetes']],
])('a new namespace with %s is active and has the finalizer of its content', (_, spec, finalizers) => {
  expect(namespaceKind.prepare?.(made({ spec }), undefined, byServer)).toMatchObject({
    metadata: { labels: { 'kubernetes.io/metadata.name': 'team' } },
    spec: { finalizers },
    status: { phase: 'Active' },
  });
});

test('an update sets the label of the name, and neither finalizers nor phase', () => {
  const next = made({ status: { phase: 'Terminating' } });
  expect(namespaceKind.prepare?.(next, next, byServer)).toEqual({
    ...next,
    metadata: { name: 'team', labels: { 'kubernetes.io/metadata.name': 'team' } },
  });
});

test.each<[string, object, readonly string[]]>([
  ['active', { status: { phase: 'Active' } }, []],
  ['deleted and active', { ...deleted, status: { phase: 'Active' } }, ['status.Phase']],
  ['deleted and terminating', { ...deleted, status: { phase: 'Terminating' } }, []],
  ['terminating without being deleted', { status: { phase: 'Terminating' } }, ['status.Phase']],
  ['without a phase', {}, ['status.Phase']],
  [
    'with a finalizer that has no domain',
    { spec: { finalizers: ['mine'] }, status: { phase: 'Active' } },
    ['spec.finalizers'],
  ],
])('a namespace that is %s', (_, fields, errors) => {
  expect(errorsOf(fields)).toEqual(errors);
});

test('an invalid finalizer of an update is named by its place', () => {
  const [before, after] = ['kubernetes', 'mine'].map((last) =>
    made({ spec: { finalizers: ['a.example/b', last] }, status: { phase: 'Active' } }),
  ) as [KubeObject, KubeObject];
  expect(fieldsOf(problemsOf(namespaceKind, after, before))).toEqual(['spec.finalizers[1]']);
});

test('finalizers stored beyond the bound may become fewer, and not more', () => {
  const withFinalizers = (count: number): KubeObject =>
    made({
      spec: { finalizers: Array.from({ length: count }, (_, i) => `${'a'.repeat(250)}/f${i}`) },
      status: { phase: 'Active' },
    });
  const errorsOfUpdate = (before: number, after: number): string[] =>
    fieldsOf(problemsOf(namespaceKind, withFinalizers(after), withFinalizers(before)));
  expect(errorsOfUpdate(1_200, 1_199)).toEqual([]);
  expect(errorsOfUpdate(1_200, 1_201)).toEqual(['spec.finalizers']);
  expect(errorsOfUpdate(1, 1_200)).toEqual(['spec.finalizers']);
});
