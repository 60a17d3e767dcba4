import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { pathSegmentNames } from '@cluster-apiserver/model/validation';
import type { KindServices } from '../services.ts';
import { eventColumns } from './columns.ts';
import { core, eventFields, validateEvent } from './event.ts';
import { eventsV1 } from './events-v1.ts';

/** A best-effort report about an object, which expires after a while. */
export const createEventKind = ({ eventLifetimeSeconds }: KindServices): Kind =>
  defineKind({
    ...core,
    kind: 'Event',
    plural: 'events',
    singular: 'event',
    shortNames: ['ev'],
    description:
      'A report of something that happened in the cluster, retained for a limited time. Events are best-effort, supplemental data: their reporters may lose or merge them, so do not rely on one being there, or on its timing.',
    fields: eventFields,
    otherVersions: [eventsV1],
    requiredFields: ['metadata', 'involvedObject'],
    names: pathSegmentNames,
    qualifiedFinalizers: false,
    metadataChecks: 'none',
    createOnUpdate: true,
    ownsOthers: false,
    // Also while a finalizer holds it, where kube-apiserver answers with the object.
    deletedAnswer: 'status',
    deletedCollectionAnswer: 'status',
    ...(eventLifetimeSeconds > 0 && { timeToLiveSeconds: eventLifetimeSeconds }),
    validate: (event, current, problems) => validateEvent(event, current, 'reportingComponent', problems),
    columns: eventColumns,
    selectableFields: {
      'involvedObject.kind': ({ involvedObject }) => involvedObject.kind ?? '',
      'involvedObject.namespace': ({ involvedObject }) => involvedObject.namespace ?? '',
      'involvedObject.name': ({ involvedObject }) => involvedObject.name ?? '',
      'involvedObject.uid': ({ involvedObject }) => involvedObject.uid ?? '',
      'involvedObject.apiVersion': ({ involvedObject }) => involvedObject.apiVersion ?? '',
      'involvedObject.resourceVersion': ({ involvedObject }) => involvedObject.resourceVersion ?? '',
      'involvedObject.fieldPath': ({ involvedObject }) => involvedObject.fieldPath ?? '',
      reason: ({ reason }) => reason ?? '',
      reportingComponent: ({ reportingComponent }) => reportingComponent,
      source: ({ source, reportingComponent }) => source.component || reportingComponent,
      type: ({ type }) => type ?? '',
    },
    indexedFields: ['involvedObject.name', 'involvedObject.uid'],
    unknownSelectorField: (name) => `field label not supported: ${name}`,
  });
