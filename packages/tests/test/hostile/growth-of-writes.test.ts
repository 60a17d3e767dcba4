/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  type Case,
  account,
  mapOf,
  model,
  nested,
  numbers,
  ownedEntries,
  runSync,
  schema,
  secrets,
  serviceAccount,
  testGrowth,
} from './growth.ts';

const empty = account({ uid: undefined });
const writer = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };
const applier = { ...writer, force: true };
const apply = (live: KubeObject, configuration: object, force = true): unknown =>
  runSync(
    model.applyAsKubectlDid(
      schema,
      live,
      empty,
      model.readApplied(schema, configuration, () => {}),
      { ...applier, force },
    ),
  );

const patches: readonly Case[] = [
  [
    'merge',
    (n) => () =>
      model.applyMergePatch(
        mapOf(
          n,
          (i) => `a${i}`,
          () => 1,
        ),
        mapOf(
          n,
          (i) => `a${2 * i}`,
          () => 2,
        ),
      ),
  ],
  ['strategic: entries that are there', (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n) })],
  ['strategic: entries that are new', (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n, n) })],
  ['strategic: into nothing', (n) => strategic({ secrets: [] }, { secrets: secrets(n) })],
  [
    'strategic: entries to delete',
    (n) => strategic({ secrets: secrets(n) }, { secrets: secrets(n).map((entry) => ({ ...entry, $patch: 'delete' })) }),
  ],
  [
    'strategic: $setElementOrder',
    (n) => strategic({ secrets: secrets(n) }, { '$setElementOrder/secrets': secrets(n).toReversed() }),
  ],
  [
    'strategic: $deleteFromPrimitiveList',
    (n) =>
      strategic(
        { metadata: { finalizers: numbers(n).map((i) => `a/f${i}`) } },
        { metadata: { '$deleteFromPrimitiveList/finalizers': numbers(n).map((i) => `a/f${n - i}`) } },
      ),
  ],
  [
    'strategic: values of a set',
    (n) =>
      strategic(
        { metadata: { finalizers: numbers(n).map((i) => `a/f${i}`) } },
        { metadata: { finalizers: numbers(n).map((i) => `b/f${i}`) } },
      ),
  ],
  [
    'strategic: $retainKeys',
    (n) =>
      strategic(
        {
          metadata: {
            annotations: mapOf(
              n,
              (i) => `k${i}`,
              () => 'v',
            ),
          },
        },
        {
          metadata: {
            annotations: {
              $retainKeys: numbers(n).map((i) => `k${i}`),
              ...mapOf(
                n,
                (i) => `k${i}`,
                () => 'w',
              ),
            },
          },
        },
      ),
  ],
  ['JSON: additions to a map', (n) => operations(n, (i) => ({ op: 'add', path: `/k${i}`, value: 1 }))],
  ['JSON: additions to the end of a list', (n) => operations(n, () => ({ op: 'add', path: '/list/-', value: 1 }))],
  [
    'JSON: additions to the start of a list',
    (n) => operations(n, () => ({ op: 'add', path: '/list/0', value: 1 }), 40),
  ],
  ['JSON: removals from the start of a list', (n) => operations(n, () => ({ op: 'remove', path: '/list/0' }), 40)],
  ['JSON: replacements', (n) => operations(n, (i) => ({ op: 'replace', path: `/list/${i}`, value: 2 }))],
  ['JSON: moves', (n) => operations(n, (i) => ({ op: 'move', from: `/map/k${i}`, path: `/map/m${i}` }))],
  ['JSON: doubling copies', (n) => operations(n, () => ({ op: 'copy', from: '/list', path: '/list/-' }), 12)],
  ['JSON: deep paths', (n) => operations(n, () => ({ op: 'add', path: '/a'.repeat(n), value: 1 }), 20)],
  ['JSON: tests', (n) => operations(n, () => ({ op: 'test', path: '/map', value: {} }), 40)],
  ['JSON: unknown members', (n) => operations(n, (i) => ({ op: 'test', path: '/map', [`x${i}`]: 0 }))],
];
function strategic(target: object, patch: object): () => unknown {
  return () => model.applyStrategicMergePatch(schema, target, patch);
}
/** A patch of `count` operations: their number is limited because each may take time proportional to the document. */
function operations(n: number, operation: (i: number) => object, count = n): () => unknown {
  const document = {
    list: numbers(n),
    map: mapOf(
      n,
      (i) => `k${i}`,
      () => 1,
    ),
  };
  const value = numbers(count).map(operation);
  return () => runSync(model.applyJsonPatch(document, model.readJsonPatch(value)));
}

const kubectlAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';
const fieldSets: readonly Case[] = [
  [
    'of a create',
    (n) => () => runSync(model.managedFieldsAfterUpdate(schema, empty, account({}, { secrets: secrets(n) }), writer)),
  ],
  [
    'of an update that changes all',
    (n) => updated(account({ managedFields: ownedEntries(1, n) }, { secrets: secrets(n) }), { secrets: secrets(n, n) }),
  ],
  [
    'of an object with many owners',
    (n) => updated(account({ managedFields: ownedEntries(n) }, { secrets: secrets(n) }), {}),
  ],
  [
    'with many owners that the client sends',
    (n) => updated(account({}, {}), { metadata: { managedFields: ownedEntries(n) } }),
  ],
  [
    'with many fields that the client sends',
    (n) => updated(account({}), { metadata: { managedFields: ownedEntries(1, n) } }),
  ],
  [
    'of labels',
    (n) =>
      updated(account({ managedFields: ownedEntries(1) }), {
        metadata: {
          labels: mapOf(
            n,
            (i) => `k${i}`,
            () => 'v',
          ),
        },
      }),
  ],
  [
    'of an apply',
    (n) => () => apply(account({}, { secrets: secrets(n) }), account({ uid: undefined }, { secrets: secrets(n, n) })),
  ],
  [
    'of an apply over many owners',
    (n) => () =>
      apply(
        account({ managedFields: ownedEntries(n) }, { secrets: secrets(n) }),
        account({ uid: undefined }, { secrets: secrets(n).map((entry) => ({ ...entry, namespace: 'x' })) }),
      ),
  ],
  [
    'of an apply that conflicts with many owners',
    (n) => () => {
      const live = account(
        { managedFields: ownedEntries(n, 2) },
        { secrets: secrets(n).map((s) => ({ ...s, namespace: 'y' })) },
      );
      try {
        apply(live, account({ uid: undefined }, { secrets: secrets(n).map((s) => ({ ...s, namespace: 'x' })) }), false);
      } catch (error) {
        if (error instanceof model.ApplyConflictError) model.conflictCauses(error.conflicts);
      }
    },
  ],
  [
    'of an apply as kubectl did it',
    (n) => () => {
      const configuration = account({ uid: undefined }, { secrets: secrets(n) });
      const annotations = { [kubectlAnnotation]: JSON.stringify(configuration) };
      const live = account({ annotations, managedFields: ownedEntries(1, n) }, { secrets: secrets(n) });
      const applied = model.readApplied(schema, configuration, () => {});
      runSync(model.applyAsKubectlDid(schema, live, empty, applied, { ...applier, manager: 'kubectl' }));
    },
  ],
  ['compared', (n) => () => model.sameOwnership(ownedEntries(n), ownedEntries(n))],
  ['nested deeply', (n) => updated(account({}), { metadata: { managedFields: nested(n) } })],
];
function updated(live: KubeObject, change: { readonly metadata?: object; readonly secrets?: object[] }): () => unknown {
  const next = { ...live, ...change, metadata: { ...live.metadata, ...change.metadata } };
  return () => runSync(model.managedFieldsAfterUpdate(schema, live, next, writer));
}

const validators: readonly Case[] = [
  [
    'bad labels',
    (n) =>
      validate({
        labels: mapOf(
          n,
          (i) => `-${i}`,
          () => '-',
        ),
      }),
  ],
  [
    'annotations',
    (n) =>
      validate({
        annotations: mapOf(
          n,
          (i) => `a${i}`,
          () => 'v',
        ),
      }),
  ],
  [
    'bad annotations',
    (n) =>
      validate({
        annotations: mapOf(
          n,
          (i) => `-${i}`,
          () => 'v',
        ),
      }),
  ],
  ['equal finalizers', (n) => validate({ finalizers: numbers(n).map(() => 'x') })],
  ['both finalizers', (n) => validate({ finalizers: [...numbers(n).map(() => 'orphan'), 'foregroundDeletion'] })],
  [
    'owners that control',
    (n) => validate({ ownerReferences: numbers(n).map((i) => ({ uid: `${i}`, kind: 'K', controller: true })) }),
  ],
  ['bad entries of managedFields', (n) => validate({ managedFields: numbers(n).map(() => ({})) })],
  ['a long name', (n) => validate({ name: 'a.'.repeat(n) })],
  ['a long name with a bad end', (n) => validate({ name: `${'a-'.repeat(n)}!` })],
  ['a long key of a label', (n) => validate({ labels: { [`${'a.'.repeat(n)}/b`]: 'c' } })],
  [
    'finalizers of an object that is being deleted',
    (n) => () =>
      model.validateUpdatedMeta(
        account({ deletionTimestamp: 'x', finalizers: numbers(n).map((i) => `a/${i}`) }),
        account({ deletionTimestamp: 'x', finalizers: numbers(n).map((i) => `b/${i}`) }),
        serviceAccount,
        new model.Problems(),
      ),
  ],
  [
    'the answer about many errors',
    (n) => () => {
      const problems = new model.Problems();
      problems.at('f').each(numbers(n), (_, at) => at.invalid('x', 'is wrong'));
      return model.invalid({ group: '', kind: 'K' }, 'n', problems);
    },
  ],
];
function validate(metadata: object): () => unknown {
  return () => model.validateObjectMeta(account(metadata).metadata, serviceAccount, new model.Problems());
}

testGrowth({ patches, 'field sets': fieldSets, validators });
