import { formatAge, type Column, nameColumn } from '@cluster-apiserver/model/kind';
import type { Event } from './event.ts';

/** How events are shown: the older and the newer form have the same things in different fields. */
export const eventColumns: readonly Column<Event>[] = [
  {
    name: 'Last Seen',
    description: 'Time since the latest occurrence.',
    value: (event, nowMs) =>
      formatAge(event.series ? event.series.lastObservedTime : (event.lastTimestamp ?? firstTimestampOf(event)), nowMs),
  },
  { name: 'Type', description: 'Type of the event.', value: ({ type }) => type ?? '' },
  { name: 'Reason', description: 'Short machine-readable reason.', value: ({ reason }) => reason ?? '' },
  {
    name: 'Object',
    description: 'Object that the event is about.',
    value: ({ involvedObject }) => about(involvedObject),
  },
  {
    name: 'Subobject',
    description: 'Part of the object that the event is about.',
    priority: 1,
    value: ({ involvedObject }) => involvedObject.fieldPath ?? '',
  },
  { name: 'Source', description: 'Component that reported the event.', priority: 1, value: formatReporter },
  { name: 'Message', description: 'Description of what happened.', value: ({ message }) => (message ?? '').trim() },
  {
    name: 'First Seen',
    description: 'Time since the first occurrence.',
    priority: 1,
    value: (event, nowMs) => formatAge(firstTimestampOf(event), nowMs),
  },
  {
    name: 'Count',
    description: 'Number of occurrences.',
    priority: 1,
    // A single event of the newer form does not count itself.
    value: ({ series, count }) => (series ? (series.count ?? 0) : count || 1),
  },
  { ...nameColumn, priority: 1 },
];

const firstTimestampOf = ({ firstTimestamp, eventTime }: Event): string | null => firstTimestamp ?? eventTime;

const about = ({ kind = '', name }: Event['involvedObject']): string =>
  name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();

function formatReporter({ source, reportingComponent, reportingInstance }: Event): string {
  const instance = source.host || reportingInstance;
  const component = source.component || reportingComponent;
  return instance ? `${component}, ${instance}` : component;
}
