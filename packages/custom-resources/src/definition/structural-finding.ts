import type { SyncTask } from '@cluster-apiserver/base';
import { formatPath, Problems } from '@cluster-apiserver/model';
import type { JsonSchema } from '../schema/json-schema.ts';
import { SchemaPatterns } from '../schema/schema-patterns.ts';
import { findUnreadable } from './restrictions.ts';
import { validateStructure } from './structure.ts';

interface DefinedVersions {
  readonly preserveUnknownFields?: boolean;
  readonly versions?:
    | readonly { readonly name: string; readonly schema?: { readonly openAPIV3Schema?: JsonSchema } }[]
    | null;
}

export interface StructuralFinding {
  readonly status: 'True' | 'Unknown';
  readonly reason: 'Violations' | 'StructuralError';
  readonly message: string;
}

/**
 * Why the schemas of a definition are not structural; undefined if they are. Such a definition is refused now, but another
 * server may have stored it.
 */
export function* findStructuralFault(spec: DefinedVersions): SyncTask<StructuralFinding | undefined> {
  const problems = new Problems();
  const at = problems.at('spec');
  if (spec.preserveUnknownFields) at.at('preserveUnknownFields').invalid(true, 'must be false');
  const patterns = new SchemaPatterns();
  for (const [index, { name, schema }] of (spec.versions ?? []).entries()) {
    const root = schema?.openAPIV3Schema;
    if (!root) continue;
    const unreadable = yield* findUnreadable(root);
    if (unreadable !== undefined) {
      const message = `failed to check validation schema for version ${name}: ${unreadable}`;
      return { status: 'Unknown', reason: 'StructuralError', message };
    }
    yield* validateStructure(root, patterns, at.at('versions', index, 'schema', 'openAPIV3Schema'));
  }
  const texts = new Set(problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`));
  if (texts.size === 0) return undefined;
  const message = texts.size === 1 ? [...texts].join('') : `[${[...texts].join(', ')}]`;
  return { status: 'True', reason: 'Violations', message };
}
