import { describe, expect, test } from '@jest/globals';
import { runSync, type SyncTask } from '@cluster-apiserver/base';
import { formatPath, Problems } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { byServer } from '../../test/by-server.ts';
import { customResourceDefinition as kind } from './custom-resource-definition.ts';

const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } };
const version = { name: 'v1', served: true, storage: true, schema };
const spec = {
  group: 'example.com',
  scope: 'Namespaced',
  names: { plural: 'things', kind: 'Thing' },
  versions: [version],
};

/** As it is stored. */
function made(fields: object, current?: KubeObject, metadata: object = {}): KubeObject {
  const given = { apiVersion: kind.apiVersion, kind: kind.kind, status: current?.['status'], ...fields };
  const written = decode(kind.schema, { ...given, metadata: { name: 'things.example.com', ...metadata } }, () => {});
  const object = kind.defaults?.(written) ?? written;
  return decode(kind.schema, kind.prepare?.(object, current, byServer), () => {});
}

function* problemsOf(object: KubeObject, current?: KubeObject): SyncTask<Problems> {
  const problems = new Problems();
  kind.validate?.(object, current, problems, byServer);
  yield* kind.validateInSteps?.(object, current, problems, byServer) ?? [];
  return problems;
}

const textsOf = ({ errors }: Problems): string[] =>
  errors.map(({ path, message }) => `${formatPath(path)}: ${message}`.replace(/ a (?:DNS-1035|lowercase).*/, ' …'));
const errorsOf = (changes: object, current?: KubeObject): string[] =>
  textsOf(runSync(problemsOf(made({ spec: { ...spec, ...changes } }, current), current)));

const withNames = (names: object): object => ({ names: { ...spec.names, ...names } });
const withVersion = (changes: object): object => ({ versions: [{ ...version, ...changes }] });
const withVersions = (...changes: object[]): object => ({
  versions: changes.map((change, index) => ({ ...version, name: `v${index + 1}`, storage: index === 0, ...change })),
});
const withWebhook = (webhook: object): object => ({ conversion: { strategy: 'Webhook', webhook } });

test('a definition gets its defaults, and the state with which it begins', () => {
  const webhook = { clientConfig: { service: { namespace: 'n', name: 's' } }, conversionReviewVersions: ['v1'] };
  expect(made({ spec: { ...spec, ...withWebhook(webhook) } })).toMatchObject({
    metadata: { generation: 1 },
    spec: {
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conversion: { strategy: 'Webhook', webhook: { clientConfig: { service: { port: 443 } } } },
    },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  });
  expect(made({ spec })).toMatchObject({ spec: { conversion: { strategy: 'None' } } });
});

test('a version in which objects were stored stays among those of the status', () => {
  const current = made({ spec });
  const next = made({ spec: { ...spec, ...withVersions({ storage: false }, { storage: true }) } }, current);
  expect(next).toMatchObject({ metadata: { generation: 2 }, status: { storedVersions: ['v1', 'v2'] } });
  expect(errorsOf({ versions: [{ ...version, name: 'v2' }] }, next)).toEqual([
    expect.stringMatching(
      /^status.storedVersions\[0\]: Invalid value: "v1": missing from spec.versions; v1 was previously/,
    ),
  ]);
});

const manyOf = <T>(one: T, count: number): T[] => Array.from({ length: count }, () => one);

describe('a spec is refused', () => {
  test.each<[string, object, string[]]>([
    [
      'without a group',
      { group: '' },
      [
        'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
        'spec.group: Required value',
      ],
    ],
    [
      'of another scope',
      { scope: 'namespaced' },
      ['spec.scope: Unsupported value: "namespaced": supported values: "Cluster", "Namespaced"'],
    ],
    [
      'with a kind like its listKind',
      withNames({ listKind: 'Thing' }),
      ['spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same'],
    ],
    [
      'with other names',
      withNames({ singular: 'A', shortNames: ['ok', 'Not'], categories: ['-'] }),
      [
        'spec.names.singular: Invalid value: "A": …',
        'spec.names.shortNames[1]: Invalid value: "Not": …',
        'spec.names.categories[0]: Invalid value: "-": …',
      ],
    ],
    [
      'with too many names, versions or columns',
      {
        ...withNames({ shortNames: manyOf('a', 101), categories: manyOf('a', 101) }),
        ...withVersions(
          ...Array.from({ length: 101 }, (_, index) => ({ name: `v${index + 1}`, storage: index === 0 })),
        ),
      },
      [
        'spec.versions: Too many: 101: must have at most 100 items',
        'spec.names.shortNames: Too many: 101: must have at most 100 items',
        'spec.names.categories: Too many: 101: must have at most 100 items',
      ],
    ],
    [
      'with too many columns, or too long a path',
      {
        versions: [
          { ...version, additionalPrinterColumns: manyOf({ name: 'a', type: 'string', jsonPath: '.a' }, 101) },
          {
            ...version,
            name: 'v2',
            storage: false,
            additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: '.a'.repeat(501) }],
            selectableFields: [{ jsonPath: '.a'.repeat(501) }],
          },
        ],
      },
      [
        'spec.versions[0].additionalPrinterColumns: Too many: 101: must have at most 100 items',
        'spec.versions[1].additionalPrinterColumns[0].JSONPath: Too long: may not be more than 1000 characters',
        'spec.versions[1].selectableFields[0].jsonPath: Too long: may not be more than 1000 characters',
      ],
    ],
    [
      'without versions',
      { versions: undefined },
      [
        'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    [
      'with versions of one name',
      withVersions({}, { name: 'v1' }),
      [expect.stringMatching(/Invalid value: \[\{"Name":"v1",.*must contain unique version names$/) as never],
    ],
    [
      'with a version of a bad name',
      withVersion({ name: 'V' }),
      [
        expect.stringMatching(/^spec.versions\[0\].name: Invalid value: "V"/) as never,
        expect.stringMatching(/^spec.version: Invalid value: "V"/) as never,
      ],
    ],
    [
      'with a warning of no deprecated version',
      withVersion({ deprecationWarning: 'w' }),
      ['spec.versions[0].deprecationWarning: Invalid value: "w": can only be set for deprecated versions'],
    ],
    [
      'with a warning that cannot be printed',
      withVersion({ deprecated: true, deprecationWarning: 'ü\n' }),
      [
        'spec.versions[0].deprecationWarning: Invalid value: "ü\\n": must only contain printable UTF-8 characters; non-printable character found at index 2',
      ],
    ],
    [
      'with a column',
      withVersion({ additionalPrinterColumns: [{ name: '', type: 'text', jsonPath: 'a' }] }),
      [
        'spec.additionalPrinterColumns[0].name: Required value',
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
      ],
    ],
    [
      'with a scale elsewhere',
      withVersion({
        subresources: { scale: { specReplicasPath: '.a', statusReplicasPath: '.status.b', labelSelectorPath: '.c' } },
      }),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".a": should be a json path under .spec',
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".c": should be a json path under either .spec or .status',
      ],
    ],
    [
      'that keeps unknown fields',
      { preserveUnknownFields: true },
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
    [
      'with a webhook for nothing',
      { conversion: { strategy: 'None', webhook: { clientConfig: {}, conversionReviewVersions: ['v1'] } } },
      [
        'spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook',
        'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
      ],
    ],
    [
      'without the place of its webhook',
      withWebhook({ conversionReviewVersions: ['v9', 'v9'] }),
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions[1]: Invalid value: "v9": duplicate version',
        'spec.conversion.conversionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
      ],
    ],
  ])('%s', (_, changes, errors) => {
    expect(errorsOf(changes)).toEqual(errors);
  });
});

const faulty = { openAPIV3Schema: { type: 'object', properties: { a: { type: 'int' } } } };
const elsewhere = { openAPIV3Schema: { type: 'object', properties: { b: { type: 'int' } } } };
const typeError = (place: string): unknown => expect.stringMatching(new RegExp(`^spec.${place}.type: Unsupported`));

test('what all versions have in common is refused once, and the rest for each', () => {
  expect(errorsOf(withVersions({ schema: faulty }, { schema: faulty }))).toEqual([
    typeError(String.raw`validation.openAPIV3Schema.properties\[a\]`),
  ]);
  expect(errorsOf(withVersions({ schema: faulty }, { schema: elsewhere }))).toEqual([
    typeError(String.raw`versions\[0\].schema.openAPIV3Schema.properties\[a\]`),
    typeError(String.raw`versions\[1\].schema.openAPIV3Schema.properties\[b\]`),
  ]);
});

const selectable = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { a: { type: 'string' }, o: { type: 'object' } } } },
  },
};
const selecting = (...paths: string[]): object => ({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) });

test('selectable fields are single values that the schema describes', () => {
  expect(errorsOf(withVersion({ schema: selectable, ...selecting('.spec.a') }))).toEqual([]);
  expect(
    errorsOf(
      withVersion({
        schema: selectable,
        ...selecting('', '.spec.b', "['spec'].a", '.spec.o', '.spec.a', '.spec.a', 'spec', '.'),
      }),
    ),
  ).toEqual([
    'spec.selectableFields[0].jsonPath: Required value',
    'spec.selectableFields[1].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
    `spec.selectableFields[2].jsonPath: Invalid value: "['spec'].a": is an invalid path: array notation is not allowed`,
    'spec.selectableFields[3].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    'spec.selectableFields[5].jsonPath: Duplicate value: ".spec.a"',
    'spec.selectableFields[6].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec',
    'spec.selectableFields[7].jsonPath: Invalid value: ".": is an invalid path: unexpected end of JSON path',
  ]);
});

test('versions with the same selectable fields may have different schemas, and the reverse', () => {
  expect(errorsOf(withVersions({ schema: selectable, ...selecting('.spec.a') }, { schema: selectable }))).toEqual([]);
  expect(
    errorsOf(withVersions({ schema: selectable, ...selecting('.spec.a') }, { schema, ...selecting('.spec.a') })),
  ).toEqual([
    'spec.versions[1].selectableFields[0].jsonPath: Invalid value: ".spec.a": is an invalid path: does not refer to a valid field',
  ]);
});

describe('a change', () => {
  const current = made({ spec });
  const established = {
    ...current,
    status: { ...(current['status'] as object), conditions: [{ type: 'Established', status: 'True' }] },
  };

  test('of scope and kind is refused once the definition is established', () => {
    const changes = { scope: 'Cluster', ...withNames({ kind: 'Other' }) };
    expect(errorsOf(changes, current)).toEqual([]);
    expect(errorsOf(changes, established)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Other": field is immutable',
    ]);
  });

  test('to a bundle without certificates is refused once the definition is established', () => {
    const caBundle = Buffer.from('none').toString('base64');
    const webhook = { clientConfig: { url: 'https://a.example.com', caBundle }, conversionReviewVersions: ['v1'] };
    expect(errorsOf(withWebhook(webhook), current)).toEqual([]);
    expect(errorsOf(withWebhook(webhook), established)).toEqual([
      `spec.conversion.webhookClientConfig.caBundle: Invalid value: "${caBundle}": unable to load root certificates: unable to parse bytes as PEM block`,
    ]);
  });

  test('leaves a schema alone that another server has accepted', () => {
    const stored = made({ spec: { ...spec, ...withVersion({ schema: faulty }) } });
    expect(errorsOf({ ...withVersion({ schema: faulty }), ...withNames({ shortNames: ['th'] }) }, stored)).toEqual([]);
  });

  test('of an approval may not take it away', () => {
    const approval = (text: string): object => ({ annotations: { 'api-approved.kubernetes.io': text } });
    const inGroup = { ...spec, group: 'x.kubernetes.io' };
    const name = 'things.x.kubernetes.io';
    const approved = made({ spec: inGroup }, undefined, { name, ...approval('https://a.b/c') });
    const change = (metadata: object, before: KubeObject): string[] =>
      textsOf(runSync(problemsOf(made({ spec: inGroup }, before, { name, ...metadata }), before)));
    expect(change(approval('unapproved, a trial'), approved)).toEqual([]);
    expect(change(approval('yes'), approved)).toEqual([
      expect.stringContaining('metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes"'),
    ]);
    const none = made({ spec: inGroup }, undefined, { name });
    expect(change({ labels: { a: 'b' } }, none)).toEqual([]);
  });
});

test('a write warns of formats that are new to the definition', () => {
  const withFormats = (...formats: string[]): KubeObject => {
    const properties = Object.fromEntries(formats.map((format, index) => [`p${index}`, { type: 'string', format }]));
    return made({ spec: { ...spec, ...withVersion({ schema: { openAPIV3Schema: { type: 'object', properties } } }) } });
  };
  expect(kind.warnings?.(withFormats('date-time', 'a', 'b', 'a'), undefined)).toEqual([
    'unrecognized format "a"',
    'unrecognized format "b"',
  ]);
  expect(kind.warnings?.(withFormats('a', 'c'), withFormats('a'))).toEqual(['unrecognized format "c"']);
});

describe('what may be many is validated in steps', () => {
  const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  test.each<[string, object]>([
    ['versions', withVersions(...many(100, () => ({})))],
    ['selectable fields', withVersion({ schema: selectable, ...selecting(...many(10_000, () => '.spec.a')) })],
  ])('%s', (_, changes) => {
    const task = problemsOf(made({ spec: { ...spec, ...changes } }));
    let steps = 0;
    while (!task.next().done) steps++;
    expect(steps).toBeGreaterThan(40);
  });
});
