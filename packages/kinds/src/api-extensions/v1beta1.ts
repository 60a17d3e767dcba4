import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import type { ImmediateConversion, VersionDeclaration } from '@cluster-apiserver/model/kind';
import { any, decode, jsonField } from '@cluster-apiserver/model/schema';
import { apiExtensions } from './api-extensions.ts';
import type { CustomResourceDefinition } from './definition-fields.ts';

/** The version in which kube-apiserver stores definitions. Clients see it nowhere, and this server stores none in it. */
export const v1beta1: VersionDeclaration<CustomResourceDefinition> = {
  group: apiExtensions.group,
  version: 'v1beta1',
  isServed: false,
  fields: {
    spec: jsonField(any, 'Definition of the kind.', 'always'),
    status: jsonField(any, 'State of the kind.', 'always'),
  },
  renamed: {},
  selectableFields: {},
  validate: () => {},
};

/** What all versions have in common is above the versions there, and in each of them in v1. */
export const fromV1beta1: ImmediateConversion = {
  isImmediate: true,
  convert: (definition, from, to) =>
    from === to
      ? definition
      : decode(
          to.schema,
          { ...definition, kind: to.kind, apiVersion: to.apiVersion, spec: specOf(objectOf(definition['spec'])) },
          () => {},
        ),
};

function specOf({
  version,
  validation,
  subresources,
  additionalPrinterColumns,
  selectableFields,
  conversion,
  ...spec
}: JsonObject): object {
  const common = {
    ...(validation !== undefined && { schema: validation }),
    ...(subresources !== undefined && { subresources }),
    ...(additionalPrinterColumns !== undefined && { additionalPrinterColumns }),
    ...(selectableFields !== undefined && { selectableFields }),
  };
  const versions = listOf(spec['versions']);
  const only = versions.length === 0 ? [{ name: version, served: true, storage: true }] : versions;
  return {
    ...spec,
    versions: only.map((one) => versionOf({ ...common, ...objectOf(one) })),
    ...(conversion !== undefined && { conversion: conversionOf(objectOf(conversion)) }),
  };
}

function versionOf({ additionalPrinterColumns, ...version }: JsonObject): object {
  if (additionalPrinterColumns === undefined) return version;
  return {
    ...version,
    additionalPrinterColumns: listOf(additionalPrinterColumns).map((one) => columnOf(objectOf(one))),
  };
}

const columnOf = ({ JSONPath, ...column }: JsonObject): object => ({
  ...column,
  ...(JSONPath !== undefined && { jsonPath: JSONPath }),
});

function conversionOf({ webhookClientConfig, conversionReviewVersions, ...conversion }: JsonObject): object {
  if (webhookClientConfig === undefined && conversionReviewVersions === undefined) return conversion;
  return { ...conversion, webhook: { clientConfig: webhookClientConfig, conversionReviewVersions } };
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
