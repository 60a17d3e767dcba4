import { requireValue } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import type { ApiVersion, Kind } from '@cluster-apiserver/model/kind';
import { sampleOf } from '../authorization/samples.ts';
import { lampKind } from '../custom-sample.ts';

export interface ServedResource {
  readonly path: string;
  /** The storage prefix. */
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly fields: object;
  /** Namespaces have no deletecollection, and stay until they are empty. */
  readonly hasDeleteCollection: boolean;
  readonly isCustom: boolean;
  /** The paths that read and write the object itself, below its own. */
  readonly parts: readonly string[];
}

/**
 * All resources whose objects are stored; each test runs on all of them. The name of a definition says what it defines, so it
 * has tests of its own.
 */
export const servedResources: readonly ServedResource[] = [...kinds({ eventLifetimeSeconds: 3_600 }), lampKind]
  .filter(({ kind }) => kind !== 'CustomResourceDefinition')
  .flatMap((stored) =>
    stored.versions.filter(({ isServed }) => isServed).map((version) => toResource(stored, version)),
  );

function toResource(
  { storage }: Kind,
  { apiVersion, group, kind, plural, singular, namespaced, verbs, fieldSubresources, isCustom }: ApiVersion,
): ServedResource {
  const within = namespaced ? 'namespaces/n/' : '';
  return {
    path: `${apiVersion === 'v1' ? '/api' : '/apis'}/${apiVersion}/${within}${plural}`,
    key: `/registry/${storage.prefix}${namespaced ? '/n' : ''}`,
    apiVersion,
    kind,
    plural,
    singular,
    fields: fieldsOf(`${group}/${plural}`),
    hasDeleteCollection: verbs.includes('deletecollection'),
    isCustom,
    parts: fieldSubresources.map(({ name }) => name),
  };
}

/** Those of the server's own kinds: custom ones take no strategic merge patches, and their patches keep what names the kind. */
export const declaredResources = servedResources.filter(({ isCustom }) => !isCustom);

/** The fields that a valid object has besides its metadata. A new kind has a sample. */
function fieldsOf(resource: string): object {
  const sample = sampleOf(resource, { namespace: 'n', name: 'x' });
  return Object.fromEntries(
    Object.entries(sample).filter(([name]) => !['apiVersion', 'kind', 'metadata'].includes(name)),
  );
}

/** Without a version the first one, in which objects are stored. */
export const resourceOf = (kind: string, apiVersion?: string): ServedResource =>
  requireValue(
    servedResources.find((place) => place.kind === kind && place.apiVersion === (apiVersion ?? place.apiVersion)),
    `${kind} is not served`,
  );

/** A valid object of the resource. */
export const validObject = ({ apiVersion, kind, fields }: ServedResource, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...fields,
});
