import {
  defineView,
  type FieldError,
  field,
  int32,
  invalidValue,
  type Kind,
  microTime,
  object,
  objectReference,
  publicationOf,
  required,
  sameJson,
  string,
  subdomainNames,
  time,
} from '@cluster-apiserver/model';
import { type Event, eventSource, namesInEventsV1, validateEvent } from './event.ts';

const group = { group: 'events.k8s.io', version: 'v1' };

const seriesSchema = object(
  {
    count: field(1, int32, 'Occurrences up to the last heartbeat.'),
    lastObservedTime: field(2, microTime, 'Time of the last occurrence observed.', 'always'),
  },
  {
    publication: publicationOf({ ...group, kind: 'EventSeries' }, 'A series of identical events.'),
  },
);

/** Events in events.k8s.io/v1. Fields that only core/v1 events have are shown, but cannot be set. */
export const eventOfEvents = (stored: Kind): Kind =>
  defineView<Event>({
    of: stored,
    ...group,
    description: stored.description,
    fields: {
      eventTime: field(2, microTime, 'When the event was first observed.', 'always'),
      series: field(
        3,
        seriesSchema,
        'Set if this event is part of a series of identical events; absent for a single occurrence.',
      ),
      reportingController: field(
        4,
        string,
        'Name of the controller that reported the event, such as example.com/robots.',
      ),
      reportingInstance: field(5, string, 'Instance of the controller that reported the event.'),
      action: field(6, string, 'Action that was taken or failed on the object.'),
      reason: field(7, string, 'Machine-readable reason for the action.'),
      regarding: field(8, objectReference, 'The object the event is about.', 'always'),
      related: field(9, objectReference, 'Secondary object of the action, if any.'),
      note: field(10, string, 'Human-readable description of what happened.'),
      type: field(11, string, 'Type of the event: Normal or Warning.'),
      deprecatedSource: field(12, eventSource, 'Component that reported a core/v1 event.', 'always'),
      deprecatedFirstTimestamp: field(13, time, 'Time at which a core/v1 event was first recorded.', 'always'),
      deprecatedLastTimestamp: field(
        14,
        time,
        'Time at which the latest occurrence of a core/v1 event was recorded.',
        'always',
      ),
      deprecatedCount: field(15, int32, 'Number of occurrences of a core/v1 event.'),
    },
    requiredFields: ['eventTime'],
    renamed: namesInEventsV1,
    selectableFields: {
      'regarding.kind': 'involvedObject.kind',
      'regarding.namespace': 'involvedObject.namespace',
      'regarding.name': 'involvedObject.name',
      'regarding.uid': 'involvedObject.uid',
      'regarding.apiVersion': 'involvedObject.apiVersion',
      'regarding.resourceVersion': 'involvedObject.resourceVersion',
      'regarding.fieldPath': 'involvedObject.fieldPath',
      reason: 'reason',
      reportingController: 'reportingComponent',
      type: 'type',
    },
    validate: (event, current) => [
      ...validateEvent(event, current, 'reportingController'),
      ...(current ? validateUpdate(event, current) : validateNew(event)),
    ],
  });

/** Rules for new events of this version, on top of those that hold for both. */
const validateNew = ({
  metadata: { name = '' },
  eventTime,
  type = '',
  series,
  firstTimestamp,
  lastTimestamp,
  count,
  source,
}: Event): FieldError[] => [
  ...subdomainNames.whole(name).map((problem) => invalidValue('metadata.name', name, problem)),
  ...(eventTime === null ? [required('eventTime')] : []),
  ...(type === 'Normal' || type === 'Warning' ? [] : [invalidValue('type', '', `has invalid value: ${type}`)]),
  ...validateSeries(series),
  ...Object.entries({ firstTimestamp, lastTimestamp, count, source })
    .filter(([, given]) => given && (typeof given !== 'object' || Object.keys(given).length > 0))
    .map(([unset]) => invalidValue(unset, '', 'needs to be unset')),
];

const validateSeries = (series: Event['series']): FieldError[] => [
  ...(series && (series.count ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
  ...(series?.lastObservedTime === null ? [required('series.lastObservedTime')] : []),
];

/** Immutable fields: all except the series. Upstream reports them by their stored names, except for one. */
const unchanging: Readonly<Record<string, keyof Event & string>> = {
  involvedObject: 'involvedObject',
  reason: 'reason',
  message: 'message',
  source: 'source',
  firstTimestamp: 'firstTimestamp',
  lastTimestamp: 'lastTimestamp',
  count: 'count',
  type: 'type',
  eventTime: 'eventTime',
  action: 'action',
  related: 'related',
  reportingController: 'reportingComponent',
  reportingInstance: 'reportingInstance',
};

const validateUpdate = (event: Event, current: Event): FieldError[] => [
  ...(sameJson(event.series, current.series) ? [] : validateSeries(event.series)),
  ...Object.entries(unchanging)
    .filter(([, name]) => !sameJson(event[name], current[name]))
    .map(([reported, name]) => invalidValue(reported, event[name] ?? '', 'field is immutable')),
];
