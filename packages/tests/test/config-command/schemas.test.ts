/** The printed schemas reject what the server rejects, according to an independent validator and to `config check`. */
import { describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { configurationKinds, kindOf, nameOf } from '@cluster-apiserver/config';
import { parseYaml } from '@cluster-apiserver/model/codec';
import { configCommand } from '@cluster-apiserver/server';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { exampleFiles, examples } from '../reference/configuration-page.ts';

interface Document {
  readonly apiVersion: string;
  readonly kind: string;
}
/** The parts of a schema that the mutations use. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
}

async function runConfigCommand(
  files: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const read = async (file: string): Promise<Buffer> => {
    const content = files[file];
    if (content === undefined) throw new Error(`no file ${file}`);
    return Buffer.from(content);
  };
  const environment = {
    clock,
    random: systemRandom(),
    files: { read, list: async () => [], mode: async () => 0o600, write: async () => {} },
  };
  const print = (line: string): void => void lines.push(line);
  return { code: await configCommand(args, environment, print, print), text: lines.join('\n') };
}

const documentsIn = (file: string): readonly Document[] => {
  const text = fs.readFileSync(path.join(examples, file), 'utf8');
  const texts = file.endsWith('.jsonl') ? text.split('\n').filter((line) => line.startsWith('{')) : [text];
  return texts.map((one) => parseYaml(one).value as Document); // each example has a kind
};
const documents = exampleFiles().flatMap((file) => documentsIn(file).map((document) => ({ file, document })));

test('every kind has an example', () => {
  const shown = new Set(documents.map(({ document }) => kindOf(document.apiVersion, document.kind)));
  expect(configurationKinds.filter((kind) => !shown.has(kind)).map(nameOf)).toEqual([]);
});

const schemaFor = async ({ apiVersion, kind }: Document): Promise<Schema> => {
  const declared = kindOf(apiVersion, kind);
  return JSON.parse((await runConfigCommand({}, 'schema', declared ? nameOf(declared) : '')).text) as Schema;
};
const validatorOf = (schema: Schema): ValidateFunction =>
  new Ajv2020({ strict: true, allErrors: true }).compile(schema);

/** A value of another type. */
const otherTypeThan = (schema: Schema): unknown =>
  schema.type === 'object' || schema.type === 'array' ? 'x' : { x: 1 };

interface Change {
  readonly what: string;
  readonly document: unknown;
}

/** All variants of the document with one structural error. */
function changesOf(document: unknown): (schema: Schema) => Change[] {
  const replaceAt = (steps: readonly (string | number)[], change: (value: unknown) => unknown): unknown => {
    const copy = structuredClone({ root: document }) as Record<string, unknown>;
    let holder: Record<string | number, unknown> = copy;
    let name: string | number = 'root';
    for (const step of steps) {
      holder = holder[name] as Record<string | number, unknown>; // the path exists
      name = step;
    }
    holder[name] = change(holder[name]);
    return copy['root'];
  };
  const walk = (schema: Schema, value: unknown, steps: readonly (string | number)[]): Change[] => {
    if (schema.type === undefined || value === undefined) return [];
    const place = steps.join('.');
    const own = [{ what: `${place} of another type`, document: replaceAt(steps, () => otherTypeThan(schema)) }];
    if (Array.isArray(value))
      return [...own, ...value.flatMap((item, index) => walk(schema.items ?? {}, item, [...steps, index]))];
    if (schema.type !== 'object') return own;
    const members = value as Record<string, unknown>;
    const without = (name: string): unknown =>
      replaceAt(steps, (one) => Object.fromEntries(Object.entries(one as object).filter(([key]) => key !== name)));
    return [
      ...own,
      { what: `${place}.unheardOf`, document: replaceAt(steps, (one) => ({ ...(one as object), unheardOf: 1 })) },
      ...(schema.required ?? []).map((name) => ({ what: `no ${place}.${name}`, document: without(name) })),
      ...Object.entries(schema.properties ?? {}).flatMap(([name, below]) =>
        walk(below, members[name], [...steps, name]),
      ),
    ];
  };
  return (schema) => walk(schema, document, []);
}

describe.each(documents.map(({ file, document }) => [`${document.kind} in ${file}`, document] as const))(
  '%s',
  (_, document) => {
    test('is accepted by the printed schema', async () => {
      const validate = validatorOf(await schemaFor(document));
      expect([validate(document), validate.errors]).toEqual([true, null]);
    });

    test('is rejected by the schema and by config check with any structural error', async () => {
      const schema = await schemaFor(document);
      const validate = validatorOf(schema);
      const changes = changesOf(document)(schema);
      expect(changes.length).toBeGreaterThan(5);
      for (const { what, document: changed } of changes) {
        const { code } = await runConfigCommand({ file: JSON.stringify(changed) }, 'check', 'file');
        expect([what, validate(changed), code]).toEqual([what, false, 1]);
      }
    });
  },
);
