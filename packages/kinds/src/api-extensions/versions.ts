import type { SyncTask } from '@cluster-apiserver/base';
import { validateSchema, validateSelectableFields } from '@cluster-apiserver/custom-resources';
import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { dnsWordLabel, isPrintable } from '@cluster-apiserver/model/validation';
import { validateColumns, validateScale } from './columns.ts';
import type { DefinitionVersion } from './definition-fields.ts';

/** The parts that errors name at the spec, as the form does in which upstream holds definitions, if all versions have them in common. */
const parts = {
  schema: 'validation',
  subresources: 'subresources',
  additionalPrinterColumns: 'additionalPrinterColumns',
  selectableFields: 'selectableFields',
} as const;
type Part = keyof typeof parts;

/** Each has a schema, routes and documents of its own. */
const versionsMax = 100;
/** `before`: as they are stored. */
export function* validateVersions(
  versions: readonly DefinitionVersion[] | undefined,
  before: readonly DefinitionVersion[],
  problems: Problems,
): SyncTask<void> {
  if (!versions) problems.at('versions').invalid(versions, noStorageVersion);
  else if (versions.length > versionsMax) problems.at('versions').tooMany(versions.length, versionsMax);
  else yield* validateAll(versions, before, problems);
}

/** What is the same in all versions is validated once. */
function* validateAll(
  versions: readonly DefinitionVersion[],
  before: readonly DefinitionVersion[],
  problems: Problems,
): SyncTask<void> {
  const common = new Set<Part>();
  for (const part of ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const) {
    if (versions.every((version) => sameJson(version[part], versions[0]?.[part]))) common.add(part);
    yield;
  }
  const names = new Set<string>();
  const isStatusCommon = common.has('schema') && versions.some(hasStatus);
  for (const [index, version] of versions.entries()) {
    const at = problems.at('versions', index);
    const name = dnsWordLabel(version.name);
    if (name.length > 0) at.at('name').invalid(version.name, name.join(','));
    // kube-apiserver reports the first one by the field of an earlier API version, too, unless it is empty.
    if (name.length > 0 && index === 0 && version.name !== '')
      problems.at('version').invalid(version.name, name.join(','));
    names.add(version.name);
    validateWarning(version, at.at('deprecationWarning'));
    const placeOf = (part: Part): Problems | undefined =>
      !common.has(part) ? at.at(part) : index === 0 ? problems.at(parts[part]) : undefined;
    const schema = version.schema?.openAPIV3Schema;
    if (!schema) at.at('schema', 'openAPIV3Schema').required();
    else {
      const place = placeOf('schema')?.at('openAPIV3Schema');
      const stored = before.find((one) => one.name === version.name)?.schema?.openAPIV3Schema;
      const options = { hasStatus: isStatusCommon || hasStatus(version), isStored: sameJson(schema, stored) };
      if (place) yield* validateSchema(schema, options, place);
    }
    const subresourcesAt = placeOf('subresources');
    if (version.subresources && subresourcesAt) validateScale(version.subresources, subresourcesAt);
    validateColumns(version.additionalPrinterColumns ?? [], placeOf('additionalPrinterColumns'));
    const fields = version.selectableFields ?? [];
    const fieldsAt =
      common.has('schema') || !common.has('selectableFields') ? placeOf('selectableFields') : at.at('selectableFields');
    if (fields.length > 0 && fieldsAt) {
      if (schema) yield* validateSelectableFields(fields, schema, fieldsAt);
      else fieldsAt.invalid('', 'may only be set when `version.schema.openAPIV3Schema` is not included');
    }
    yield;
  }
  const at = problems.at('versions');
  const shown = versions.map((version) => shownVersion(version, common));
  if (names.size < versions.length) at.invalid(shown, 'must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1) at.invalid(shown, noStorageVersion);
}
const noStorageVersion = 'must have exactly one version marked as storage version';

/** As kube-apiserver shows a version: in its own form, where the spec has what all versions have in common. */
const shownVersion = (version: DefinitionVersion, common: ReadonlySet<Part>): object => {
  const own = (part: Part): unknown => (common.has(part) ? null : (version[part] ?? null));
  return {
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: own('schema'),
    Subresources: own('subresources'),
    AdditionalPrinterColumns: own('additionalPrinterColumns'),
    SelectableFields: own('selectableFields'),
  };
};

const hasStatus = ({ subresources }: DefinitionVersion): boolean => subresources?.status !== undefined;

const warningBytesMax = 256;

function validateWarning({ deprecated, deprecationWarning: warning }: DefinitionVersion, at: Problems): void {
  if (warning === undefined) return;
  if (!deprecated) return void at.invalid(warning, 'can only be set for deprecated versions');
  if (Buffer.byteLength(warning) > warningBytesMax)
    at.invalid(warning, `must be <= ${warningBytesMax} characters long`);
  if (warning === '') at.invalid(warning, 'must not be an empty string');
  let bytes = 0;
  for (const character of warning.slice(0, warningBytesMax)) {
    if (!isPrintable(character)) {
      at.invalid(
        warning,
        `must only contain printable UTF-8 characters; non-printable character found at index ${bytes}`,
      );
      return;
    }
    bytes += Buffer.byteLength(character);
  }
}
