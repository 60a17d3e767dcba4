import { configurationKinds, kindNamed, nameOf, printSchema } from '@cluster-apiserver/config';
import { FlagError } from '../../flags/flag.ts';

/** The JSON Schema of a configuration kind, for editors and other tools. */
export function getSchema(name: string | undefined): object {
  const kind = name === undefined ? undefined : kindNamed(name);
  if (!kind) {
    const known = configurationKinds.map((one) => `  ${nameOf(one)}`).join('\n');
    throw new FlagError([`${name === undefined ? 'name a kind' : `unknown kind ${name}`}; there are\n${known}`]);
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: kind.kind,
    description: kind.description,
    ...printSchema(kind.schema),
  };
}
