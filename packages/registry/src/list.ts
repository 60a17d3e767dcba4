import {
  type FieldSelector,
  invalid,
  type FieldError,
  forbidden,
  type KubeObject,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  notSupported,
  type Kind,
} from '@cluster-apiserver/model';
import type { Call, Revision } from '@cluster-apiserver/storage';
import { requireAtLeast } from './get.ts';
import { Outcome } from './outcome.ts';
import { collectionPrefix, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answering } from './storage-answers.ts';

/** Which objects of a kind are meant. */
export interface Selection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
}

export interface ListOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly continue: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
}

export interface ObjectList {
  readonly items: readonly Outcome[];
  readonly revision: Revision;
}

/** The whole meaning of "list", for every kind. */
export function list(resource: Resource, options: ListOptions, call: Call): Promise<ObjectList> {
  return answering(async () => {
    const errors = listOptionsErrors(options);
    if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
    const wanted = parseResourceVersion(options.resourceVersion);
    const exact = options.resourceVersionMatch === 'Exact' && typeof wanted === 'number' ? wanted : undefined;
    const snapshot = await resource.store.list(
      { prefix: collectionPrefix(resource, options.namespace), revision: exact },
      call,
    );
    requireAtLeast(wanted, snapshot.revision);
    const items = snapshot.stored
      .map(Outcome.ofStored)
      .filter((item) => isSelected(resource.kind, options, () => item.object));
    return { items, revision: snapshot.revision };
  });
}

/** Looks into the object only if something is asked of it. */
export function isSelected(kind: Kind, { labels, fields }: Selection, object: () => KubeObject): boolean {
  return (
    (!labels || matchesLabels(labels, object().metadata.labels ?? {})) &&
    (!fields || matchesFields(fields, kind, object()))
  );
}

function listOptionsErrors({
  resourceVersion,
  resourceVersionMatch: match,
  continue: token,
  sendInitialEvents,
}: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined)
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (!match) return errors;
  if (!resourceVersion)
    errors.push(
      forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  if (token)
    errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && resourceVersion === '0')
    errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'));
  return errors;
}
