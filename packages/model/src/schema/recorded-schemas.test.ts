/** The recorded conversations about schemas of custom resources, as far as the schema alone decides. */
import { describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { runSync } from '@cluster-apiserver/base';
import { isKnownFormat, structuralOf, type WrittenSchema } from '../../test/structural-of.ts';
import { parseJson } from '../json/json.ts';
import type { JsonObject } from '../json/json-object.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { formatPath, Problems } from '../problems.ts';
import { decode, WrongTypeError } from './decode.ts';
import { toJsonSchema } from './json-schema.ts';
import type { ObjectSchema } from './schema.ts';
import { validateParts } from './validate-parts.ts';
import { validateValue } from './validate-value.ts';

interface Step {
  readonly request: {
    readonly method?: string;
    readonly path: string;
    readonly body?: JsonObject;
    readonly contentType?: string;
  };
  readonly expect?: { readonly status?: number; readonly body?: Readonly<Record<string, unknown>> };
}
interface Recorded {
  readonly name: string;
  readonly steps: readonly Step[];
}

const file = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'conformance', 'cases', 'custom-schemas.json');
const { cases } = parseJson(fs.readFileSync(file, 'utf8')).value as { readonly cases: readonly Recorded[] };

/** What needs more than a schema: rules in expressions, formats that only definitions know, and the syntax of patterns. */
function isBeyond({ steps }: Recorded): boolean {
  const text = JSON.stringify(steps);
  const named = [...text.matchAll(/"format":"([^"]+)"/g)].map(([, name = '']) => name);
  return /x-kubernetes-validations|\(\?i\)|fieldValidation|versions\/v2/.test(text) || !named.every(isKnownFormat);
}

function writtenIn(body: JsonObject | undefined): WrittenSchema | undefined {
  const spec = body?.['spec'] as { versions?: readonly { schema?: { openAPIV3Schema?: WrittenSchema } }[] } | undefined;
  return spec?.versions?.[0]?.schema?.openAPIV3Schema;
}
const schemaIn = (body: JsonObject | undefined): ObjectSchema | undefined => {
  const written = writtenIn(body);
  return written && (structuralOf(written, true) as ObjectSchema);
};

interface Cause {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}
const byText = (left: Cause, right: Cause): number => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);

/** What a write is answered with: causes of a refusal, `unreadable`, or the object. */
function write(schema: ObjectSchema, written: unknown, current: unknown): readonly Cause[] | 'unreadable' | JsonObject {
  try {
    const object = decode(schema, written, () => {}) as JsonObject;
    const problems = new Problems();
    runSync(validateValue(schema, object, current, problems));
    runSync(validateParts(schema, object, current, problems));
    if (problems.count === 0) return object;
    return problems.errors
      .map(({ path: at, message, reason }) => ({ field: formatPath(at), message, reason }))
      .sort(byText);
  } catch (error) {
    if (error instanceof WrongTypeError) return 'unreadable';
    throw error;
  }
}

/** What a schema does not keep of how it was written: order, texts for people, and what is the same without it. */
function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value)
    .filter(([name, member]) => !(name === 'format' && (member === 'int64' || member === 'double')))
    .filter(([name, member]) => !(name === 'default' && member === null) && name !== 'uniqueItems' && member !== false)
    .filter(([name, member]) => !(name === 'x-kubernetes-list-type' && member === 'atomic') && !name.includes('patch'))
    .map(([name, member]) => [name, name === 'additionalProperties' && member === true ? {} : normalized(member)]);
  return Object.fromEntries(members);
}

test('the schemas of definitions are published as they were written', () => {
  const dialect = { references: '', describedReferences: true };
  let compared = 0;
  for (const { steps } of cases.filter((one) => !isBeyond(one)))
    for (const { request } of steps) {
      const written = writtenIn(request.body)?.properties?.['spec'];
      // A number or a text has a published form of its own, and so have metadata.
      if (!written || /int-or-string|embedded-resource/.test(JSON.stringify(written))) continue;
      expect(normalized(toJsonSchema(structuralOf(written), dialect))).toEqual(normalized(written));
      compared++;
    }
  expect(compared).toBeGreaterThan(60);
});

const replayed = cases.filter((one) => !isBeyond(one));

test('most conversations are replayed', () => expect(replayed.length).toBeGreaterThan(40));

describe.each(replayed)('$name', ({ steps }) => {
  test('is answered as recorded', () => {
    let schema: ObjectSchema | undefined;
    const stored = new Map<string, JsonObject>();
    for (const { request, expect: answer } of steps) {
      const { method = 'GET', body } = request;
      schema = schemaIn(body) ?? schema;
      if (!schema || !body || Array.isArray(body) || !request.path.includes('/namespaces/') || !answer) continue;
      const place =
        method === 'POST' ? `${request.path}/${(body['metadata'] as { name?: string }).name ?? ''}` : request.path;
      const current = stored.get(place);
      // What changed the definition since shows when the object is read.
      const shown = current && (decode(schema, current, () => {}) as JsonObject);
      const next = method === 'PATCH' ? applyMergePatch(shown ?? {}, body) : body;
      const result = write(schema, next, method === 'POST' ? undefined : shown);
      const seen = Array.isArray(result) ? { causes: result } : { result };
      if (answer.status === 422) {
        const causes = answer.body?.['/details/causes'] as Cause[] | undefined;
        expect(seen).toEqual({ causes: causes ? [...causes].sort(byText) : expect.any(Array) });
      } else if (answer.status === 400) expect(result).toBe('unreadable');
      else if (answer.status === 200 || answer.status === 201) {
        expect(seen).toEqual({ result: expect.any(Object) });
        const object = result as JsonObject;
        if (answer.body && '/spec' in answer.body) expect(object['spec'] ?? null).toEqual(answer.body['/spec']);
        stored.set(place, object);
      }
    }
  });
});
