import { sameJson } from '@cluster-apiserver/model/json';
import type { WriteContext } from '@cluster-apiserver/model/kind';
import { withServicePort } from '../admission-registration/client-config.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { withCondition } from '../conditions.ts';
import type { Conversion, CustomResourceDefinition, DefinitionNames } from './definition-fields.ts';

/** Holds a definition until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export function withDefaults(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  const names = withNames(spec.names);
  const conversion = withPort(spec.conversion ?? { strategy: 'None' });
  // Most writes are of a status: a spec that stays the same one is not looked at again.
  if (sameJson(names, spec.names) && sameJson(conversion, spec.conversion)) return definition;
  return { ...definition, spec: { ...spec, names, conversion } };
}

const withNames = (names: DefinitionNames): DefinitionNames => {
  const { kind } = names;
  const listKind = names.listKind || (kind && `${kind}List`);
  return { ...names, singular: names.singular || kind.toLowerCase(), ...(listKind && { listKind }) };
};

const withPort = ({ strategy, webhook }: Conversion): Conversion => ({
  strategy,
  ...(webhook && {
    webhook: {
      ...webhook,
      ...(webhook.clientConfig && { clientConfig: withServicePort(webhook.clientConfig) }),
    },
  }),
});

const withGeneration = countingChangesOf('spec');

/** A version in which objects may be stored stays among those of the status. */
export function prepareDefinition(
  definition: CustomResourceDefinition,
  current: CustomResourceDefinition | undefined,
  { subresource }: WriteContext,
): CustomResourceDefinition {
  const status = current ? definition.status : { conditions: null, acceptedNames: noNames, storedVersions: null };
  const stored = status.storedVersions ?? [];
  const name = definition.spec.versions?.find(({ storage }) => storage)?.name;
  const isMissing = name !== undefined && (subresource === undefined ? !stored.includes(name) : stored.length === 0);
  const storedVersions = isMissing ? [...stored, name] : status.storedVersions;
  return withGeneration({ ...definition, status: { ...status, storedVersions } }, current);
}

const noNames: DefinitionNames = { plural: '', kind: '' };

/** The first step of a deletion. Its objects go next. */
export function beginDeletion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { metadata, status } = definition;
  const finalizers = metadata.finalizers ?? [];
  return {
    ...definition,
    metadata: {
      ...metadata,
      finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
    },
    status: {
      ...status,
      conditions: withCondition(status.conditions, {
        type: 'Terminating',
        status: 'True',
        lastTransitionTime: metadata.deletionTimestamp ?? '',
        reason: 'InstanceDeletionPending',
        message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      }),
    },
  };
}
