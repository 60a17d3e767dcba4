import {
  defineKind,
  type FieldError,
  field,
  int32,
  invalidValue,
  type Kind,
  microTime,
  object,
  objectReference,
  pathSegmentNames,
  publicationOf,
  qualifiedName,
  required,
  string,
  time,
  type ObjectOf,
} from '@cluster-apiserver/model';
import type { KindServices } from '../services.ts';
import { eventColumns } from './columns.ts';

const core = { group: '', version: 'v1' };

export const eventSource = object(
  {
    component: field(1, string, 'Component that reported the event.'),
    host: field(2, string, 'Name of the node that the component runs on.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'EventSource' }, 'The component that reports an event.'),
  },
);

/** The field names of events.k8s.io/v1, each with its name in core/v1. */
export const namesInEventsV1 = {
  reportingController: 'reportingComponent',
  regarding: 'involvedObject',
  note: 'message',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};

const fields = {
  involvedObject: field(2, objectReference, 'The object the event is about.', 'always'),
  reason: field(3, string, 'Short machine-readable reason of the event.'),
  message: field(4, string, 'Human-readable description of the status of the operation.'),
  source: field(5, eventSource, 'The component reporting the event.', 'always'),
  firstTimestamp: field(6, time, 'When the event was first recorded.', 'always'),
  lastTimestamp: field(7, time, 'Time at which the latest occurrence of a core/v1 event was recorded.', 'always'),
  count: field(8, int32, 'How often the event has occurred.'),
  type: field(9, string, 'Type of the event: Normal, Warning, or others to come.'),
  eventTime: field(10, microTime, 'When the event was first observed.', 'always'),
  series: field(
    11,
    object(
      {
        count: field(1, int32, 'Occurrences up to the last heartbeat.'),
        lastObservedTime: field(2, microTime, 'Time of the last occurrence observed.', 'always'),
      },
      {
        publication: publicationOf({ ...core, kind: 'EventSeries' }, 'A series of identical events.'),
      },
    ),
    'Set if this event is part of a series of identical events; absent for a single occurrence.',
  ),
  action: field(12, string, 'Action that was taken or failed on the object.'),
  related: field(13, objectReference, 'Secondary object of the action, if any.'),
  reportingComponent: field(14, string, 'Name of the controller that reported the event.', 'always'),
  reportingInstance: field(15, string, 'Instance of the controller that reported the event.', 'always'),
};

export type Event = ObjectOf<typeof fields>;

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
    fields,
    otherVersions: { 'events.k8s.io/v1': namesInEventsV1 },
    requiredFields: ['metadata', 'involvedObject'],
    names: pathSegmentNames,
    qualifiedFinalizers: false,
    createOnUpdate: true,
    ownsOthers: false,
    // Also while a finalizer holds it, where kube-apiserver answers with the object.
    deletedAnswer: 'status',
    ...(eventLifetimeSeconds > 0 && { timeToLiveSeconds: eventLifetimeSeconds }),
    validate: (event, current) => validateEvent(event, current, 'reportingComponent'),
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

/**
 * Events with an eventTime are validated by the rules of events.k8s.io/v1. Errors about the reporter have
 * the name that the client knows.
 */
export function validateEvent(
  event: Event,
  current: Event | undefined,
  reporter: 'reportingComponent' | 'reportingController',
): FieldError[] {
  const errors = event.eventTime === null ? validateCoreEvent(event) : validateNewEvent(event, reporter);
  // kube-apiserver stores events about nothing in some namespaces; the specification requires the field of new ones.
  const losesObject = isAboutNothing(event) && !(current && isAboutNothing(current));
  if (losesObject && errors.every((error) => error.field !== involvedNamespace))
    errors.unshift(required('involvedObject'));
  return errors;
}

const isAboutNothing = ({ involvedObject }: Event): boolean => Object.keys(involvedObject).length === 0;

const involvedNamespace = 'involvedObject.namespace';
const wrongNamespace = (event: Event): FieldError =>
  invalidValue(involvedNamespace, event.involvedObject.namespace ?? '', 'does not match event.namespace');

function validateCoreEvent(event: Event): FieldError[] {
  const about = event.involvedObject.namespace ?? '';
  // Objects without a namespace have their events in `default`.
  const fits = about === '' ? event.metadata.namespace === 'default' : about === event.metadata.namespace;
  return fits ? [] : [wrongNamespace(event)];
}

function validateNewEvent(event: Event, reporter: string): FieldError[] {
  const {
    metadata,
    involvedObject,
    reportingComponent,
    reportingInstance,
    action = '',
    reason = '',
    message = '',
  } = event;
  return [
    ...(!involvedObject.namespace && metadata.namespace !== 'default' && metadata.namespace !== 'kube-system'
      ? [wrongNamespace(event)]
      : []),
    ...(reportingComponent === '' ? [required(reporter)] : []),
    ...qualifiedName(reportingComponent).map((problem) => invalidValue(reporter, reportingComponent, problem)),
    ...(reportingInstance === '' ? [required('reportingInstance')] : []),
    ...maxLengthErrors('reportingInstance', reportingInstance, 128),
    ...(action === '' ? [required('action')] : []),
    ...maxLengthErrors('action', action, 128),
    ...(reason === '' ? [required('reason')] : []),
    ...maxLengthErrors('reason', reason, 128),
    ...maxLengthErrors('message', message, 1024),
  ];
}

/** Bytes, though the text says characters: kube-apiserver measures with Go's `len` and has this text. */
const maxLengthErrors = (at: string, text: string, bytesMax: number): FieldError[] =>
  Buffer.byteLength(text) > bytesMax ? [invalidValue(at, '', `can have at most ${bytesMax} characters`)] : [];
