import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { VersionDeclaration } from '@cluster-apiserver/model/kind';
import {
  field,
  int32,
  microTime,
  object,
  objectReference,
  publicationOf,
  string,
  time,
} from '@cluster-apiserver/model/schema';
import { subdomainNames, validateObjectMeta } from '@cluster-apiserver/model/validation';
import { type Event, eventSource, validateEvent } from './event.ts';

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
export const eventsV1: VersionDeclaration<Event> = {
  ...group,
  fields: {
    eventTime: field(2, microTime, 'Time of the first observation of the event.', 'always'),
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
  renamed: {
    reportingController: 'reportingComponent',
    regarding: 'involvedObject',
    note: 'message',
    deprecatedSource: 'source',
    deprecatedFirstTimestamp: 'firstTimestamp',
    deprecatedLastTimestamp: 'lastTimestamp',
    deprecatedCount: 'count',
  },
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
  validate: (event, current, problems) => {
    validateEvent(event, current, 'reportingController', problems);
    if (current) validateUpdate(event, current, problems);
    else validateNew(event, problems);
  },
};

/** Rules for new events of this version, on top of those that hold for both. */
function validateNew(event: Event, problems: Problems): void {
  const { metadata, eventTime, type = '', series, firstTimestamp, lastTimestamp, count, source } = event;
  validateObjectMeta(metadata, { namespaced: true, names: subdomainNames, qualifiedFinalizers: true }, problems);
  if (eventTime === null) problems.at('eventTime').required();
  if (type !== 'Normal' && type !== 'Warning') problems.at('type').invalid('', `has invalid value: ${type}`);
  validateSeries(series, problems.at('series'));
  for (const [unset, given] of Object.entries({ firstTimestamp, lastTimestamp, count, source }))
    if (given && (typeof given !== 'object' || Object.keys(given).length > 0))
      problems.at(unset).invalid('', 'needs to be unset');
}

function validateSeries(series: Event['series'], problems: Problems): void {
  if (!series) return;
  if ((series.count ?? 0) < 2) problems.at('count').invalid('', 'should be at least 2');
  if (series.lastObservedTime === null) problems.at('lastObservedTime').required();
}

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

function validateUpdate(event: Event, current: Event, problems: Problems): void {
  if (!sameJson(event.series, current.series)) validateSeries(event.series, problems.at('series'));
  for (const [reported, name] of Object.entries(unchanging))
    if (!sameJson(event[name], current[name])) problems.at(reported).invalid(event[name] ?? '', 'field is immutable');
}
