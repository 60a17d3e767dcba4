import { isJsonObject } from '../json/json-object.ts';
import type { FieldSubresource } from '../kind/api-version.ts';
import type { Kind } from '../kind/kind.ts';
import type { ManagedFieldsEntry } from '../kind/object.ts';

/** Drops what belongs to no manager from what a write has made its manager own: fixed fields, and those of other parts. */
export function disownFields(
  { fixedFields }: Kind,
  subresource: FieldSubresource | undefined,
  manager: string,
  entries: ManagedFieldsEntry[] | undefined,
): ManagedFieldsEntry[] | undefined {
  const paths = [...fixedFields.map((name) => [name]), ...(subresource?.unowned ?? [])];
  if (paths.length === 0 || !entries) return entries;
  const left = entries.flatMap((entry) => {
    if (entry.manager !== manager || (entry.subresource ?? undefined) !== subresource?.name) return [entry];
    const fieldsV1 = paths.reduce<unknown>(withoutPath, entry.fieldsV1);
    return isJsonObject(fieldsV1) && Object.keys(fieldsV1).length > 0 ? [{ ...entry, fieldsV1 }] : [];
  });
  return left.length > 0 ? left : undefined;
}

/** What owned nothing but the path is left out as a whole. */
function withoutPath(fields: unknown, [name, ...below]: readonly string[]): unknown {
  const step = `f:${name}`;
  if (!isJsonObject(fields) || !(step in fields)) return fields;
  const { [step]: member, ...others } = fields;
  if (below.length === 0) return others;
  const left = withoutPath(member, below);
  return isJsonObject(left) && Object.keys(left).some((key) => key !== '.') ? { ...fields, [step]: left } : others;
}
