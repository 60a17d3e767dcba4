import { expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import { type Kind, nameColumn } from '@cluster-apiserver/model/kind';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import type { RequestInfoContext } from '../request-context.ts';
import {
  negotiateDocument,
  negotiateError,
  type ResponseFormat,
  negotiateList,
  negotiateObject,
  negotiateWatch,
  requireListForm,
} from './negotiate.ts';

const by = (headers: Record<string, string>, search = ''): RequestInfoContext =>
  ({
    request: { header: (name: string) => headers[name] },
    info: { query: new URLSearchParams(search) },
  }) as unknown as RequestInfoContext;
const accepting = (accept: string | undefined, search?: string): RequestInfoContext =>
  by(accept === undefined ? {} : { accept }, search);
const columns = [nameColumn];
const kind = { kind: 'Robot', hasProtobuf: true, columns } as unknown as Kind;
const kindOfText = { kind: 'Note', hasProtobuf: false, columns } as unknown as Kind;
const madeKind = { kind: 'Review', hasProtobuf: true, columns: [] } as unknown as Kind;

const json: ResponseFormat = { encoding: 'json' };
const table = (version: 'v1' | 'v1beta1', include: 'None' | 'Metadata' | 'Object'): ResponseFormat => ({
  encoding: 'json',
  transform: { as: 'Table', version, include },
});
const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const metadataType = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const metadataListType = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

test.each([
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['application/json;charset=utf-8', 'json'],
  ['application/json;stream=watch', 'json'],
  ['application/json;pretty=1', 'prettyJson'],
  ['application/yaml', 'yaml'],
  ['Application/YAML', 'yaml'],
  ['application/json;q=0.1, application/yaml', 'yaml'],
  ['*/*, application/yaml', 'yaml'],
  ['application/*, */*, application/yaml;q=0.9', 'json'],
  ['application/yaml;q=0, application/json', 'json'],
  ['application/yaml;stream=watch, application/json', 'json'],
  ['application/json;as=Sheet;v=v1;g=meta.k8s.io,application/json', 'json'],
  ['text/html, */*;q=0.8', 'json'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['application/vnd.kubernetes.protobuf, application/json', 'protobuf'],
  ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json', 'json'],
] as const)('an object for %j is written as %s', (accept, encoding) => {
  expect(negotiateObject(accepting(accept), kind)).toEqual({ encoding });
});

test('a range of types is taken for custom kinds, documents and errors, and not for kinds of kube-apiserver', () => {
  const request = accepting('application/*');
  expect(negotiateObject(request, kindOfText)).toEqual(json);
  expect(negotiateError(request.request, undefined)).toBe('json');
  expect(negotiateDocument(request)).toBe('json');
  expect(() => negotiateObject(request, kind)).toThrow(
    /^406: Not Acceptable\n\nAvailable representations: application\/json/,
  );
});

test.each<[string, string, ResponseFormat]>([
  [tableType, '', table('v1', 'Metadata')],
  [tableType, 'includeObject=', table('v1', 'Metadata')],
  [tableType, 'includeObject=None', table('v1', 'None')],
  [tableType, 'includeObject=Object', table('v1', 'Object')],
  [`${tableType.replace('=v1;', '=v1beta1;')}, application/json`, '', table('v1beta1', 'Metadata')],
  [`application/json;as=Sheet;v=v1;g=meta.k8s.io,${tableType},application/json`, '', table('v1', 'Metadata')],
  [`${tableType.replace('=v1;', '=v2;')}, application/json`, '', json],
  ['application/json, application/json;as=Table;v=v1;g=meta.k8s.io', '', json],
  ['application/yaml;as=Table;v=v1;g=meta.k8s.io', '', { ...table('v1', 'Metadata'), encoding: 'yaml' }],
  [tableType, 'pretty=true', { ...table('v1', 'Metadata'), encoding: 'prettyJson' }],
])('%j with %j asks for the form %j, of an object and of a list', (accept, search, form) => {
  expect(negotiateObject(accepting(accept, search), kind)).toEqual(form);
  expect(negotiateList(accepting(accept, search), kind)).toEqual(form);
});

test('objects and lists have partial metadata, and watches that of objects', () => {
  const version = 'v1';
  const one: ResponseFormat = { encoding: 'json', transform: { as: 'PartialObjectMetadata', version } };
  expect(negotiateObject(accepting(metadataType), kind)).toEqual(one);
  expect(negotiateWatch(accepting(metadataType), kind)).toEqual(one);
  expect(negotiateList(accepting(metadataListType), kind).transform).toEqual({
    as: 'PartialObjectMetadataList',
    version,
  });
  for (const refused of [
    () => requireListForm(negotiateList(accepting(metadataType), kind), kind),
    () => negotiateObject(accepting(metadataListType), kind),
    () => negotiateWatch(accepting(metadataListType), kind),
  ])
    expect(refused).toThrow(/requested object is/);
});

test.each([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((value) => ['kubectl/1', `pretty=${value}`, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False', 'yes'].map((value) => ['curl/8', `pretty=${value}`, false] as const),
  ['curl/8', 'pretty=', true],
  ['kubectl/1', 'pretty=', false],
  ['curl', '', true],
  ['Wget/1.2', '', true],
  ['Mozilla/5.0 (X11)', '', true],
  ['Opera/9.80', '', true],
  ['HTTPie/3.2', '', true],
  ['xh/0.2', '', true],
  ['kubectl/1', '', false],
])('a request of %s with %j is indented: %s', (agent, search, isIndented) => {
  expect(negotiateObject(by({ 'user-agent': agent }, search), kind).encoding).toBe(isIndented ? 'prettyJson' : 'json');
});

test('a watch is never indented, and never YAML', () => {
  expect(negotiateWatch(by({ 'user-agent': 'curl/8' }), kind)).toEqual(json);
  expect(negotiateWatch(by({ accept: tableType }, 'pretty=true'), kind)).toEqual(table('v1', 'Metadata'));
  expect(negotiateWatch(accepting('application/json;stream=watch'), kind)).toEqual(json);
  expect(() => negotiateWatch(accepting('application/yaml'), kind)).toThrow('application/json;stream=watch');
  expect(() => negotiateWatch(accepting('application/yaml, application/json'), kind)).toThrow(StatusError);
});

test.each([
  ['image/png', true],
  ['text/html, image/png', true],
  [',', true],
  ['application/json;q=0', true],
  ['application/json;as=Sheet;v=v1;g=meta.k8s.io', false],
  ['application/json;as=Table', false],
  ['application/json;as=Table;v=v1;g=example.com', false],
  ['application/json;v=v1;g=meta.k8s.io', false],
  ['application/json;stream=rows', false],
])('%j is refused, and the refusal is readable', (accept, withDetails) => {
  const refusal = refusalOf(() => negotiateObject(accepting(accept), kind));
  expect(refusal.code).toBe(406);
  expect('details' in refusal.toStatus()).toBe(withDetails);
  expect(negotiateError(accepting(accept).request, undefined)).toBe('prettyJson');
});

test('protobuf is available for kinds that have it, their metadata, watches and errors', () => {
  const protobuf = 'application/vnd.kubernetes.protobuf';
  const context = accepting(`${protobuf}, application/json`);
  expect(negotiateObject(context, kindOfText)).toEqual(json);
  expect(() => negotiateObject(accepting(protobuf), kindOfText)).toThrow(
    `accepted: application/json, application/yaml, ${protobuf}`,
  );
  for (const one of [kind, kindOfText])
    expect(negotiateObject(accepting(`${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`), one)).toEqual({
      encoding: 'protobuf',
      transform: { as: 'PartialObjectMetadata', version: 'v1' },
    });
  expect(negotiateWatch(accepting(`${protobuf};stream=watch`), kind)).toEqual({ encoding: 'protobuf' });
  expect(negotiateError(context.request, undefined)).toBe('protobuf');
  expect(negotiateDocument(context)).toBe('json');
});

test('an unknown part of a row is refused', () => {
  expect(refusalOf(() => negotiateList(accepting(tableType, 'includeObject=All'), kind)).code).toBe(400);
  expect(negotiateList(accepting('application/json', 'includeObject=All'), kind)).toEqual(json);
});

test('errors and documents have no tables; the next accepted type is used', () => {
  const both = accepting(`${tableType},application/yaml`);
  expect(negotiateError(both.request, undefined)).toBe('yaml');
  expect(negotiateDocument(both)).toBe('yaml');
  expect(negotiateError(accepting(tableType).request, undefined)).toBe('prettyJson');
  expect(() => negotiateDocument(accepting(tableType))).toThrow(StatusError);
});

test.each([
  ['curl/8.0', '', 'prettyJson'],
  ['Mozilla/5.0', '', 'prettyJson'],
  ['Wget/1.2', '', 'prettyJson'],
  ['kubectl/v1.36', '', 'json'],
  ['curl/8.0', 'pretty=false', 'json'],
  ['kubectl/v1.36', 'pretty=true', 'prettyJson'],
  ['kubectl/v1.36', 'pretty=1', 'prettyJson'],
  ['kubectl/v1.36', 'pretty=yes', 'json'],
])('%s with %j gets %s', (agent, search, encoding) => {
  expect(negotiateObject(by({ 'user-agent': agent }, search), kind)).toEqual({ encoding });
});

function refusalOf(ask: () => unknown): StatusError {
  try {
    ask();
  } catch (error) {
    if (error instanceof StatusError) return error;
  }
  throw new Error('it was not refused');
}

test('an object that is not stored has no table, but metadata', () => {
  expect(() => negotiateObject(accepting(tableType), madeKind)).toThrow(
    expect.objectContaining({ reason: 'NotAcceptable', code: 406 }),
  );
  expect(negotiateObject(accepting(`${tableType}, application/json`), madeKind)).toEqual(json);
  expect(negotiateObject(accepting(metadataType), madeKind)).toMatchObject({
    transform: { as: 'PartialObjectMetadata' },
  });
});

test('what an Accept header has chosen before holds whatever else the next request says', () => {
  const twice = (search: string): ResponseFormat[] =>
    [1, 2].map(() => negotiateList(accepting(tableType, search), kind));
  expect(twice('includeObject=Object')).toEqual(Array(2).fill(table('v1', 'Object')));
  expect(() => negotiateList(accepting(tableType, 'includeObject=All'), kind)).toThrow('includeObject');
  expect(twice('')).toEqual(Array(2).fill(table('v1', 'Metadata')));
  expect(() => negotiateObject(accepting(tableType), madeKind)).toThrow('media types are accepted');
  const agent = { accept: 'application/json, */*', 'user-agent': 'curl/8' };
  expect(negotiateObject(by({ accept: agent.accept }), kind)).toEqual(json);
  expect(negotiateObject(by(agent), kind)).toEqual({ encoding: 'prettyJson' });
});

test('the texts of Accept headers that are kept are bounded', () => {
  const characters = 30_000;
  const send = (count: number): void => {
    for (let n = 0; n < count; n++)
      negotiateObject(accepting(`application/json, a${n}/${'x'.repeat(characters)}`), kind);
  };
  send(10);
  const before = usedHeapBytes();
  send(300);
  expect(usedHeapBytes() - before).toBeLessThan(40 * characters * 2);
});
