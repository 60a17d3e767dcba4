import type { Problems } from '@cluster-apiserver/model';
import type { ObjectOf } from '@cluster-apiserver/model/kind';
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
import { qualifiedName } from '@cluster-apiserver/model/validation';

export const core = { group: '', version: 'v1' };

export const eventSource = object(
  {
    component: field(1, string, 'Component that reported the event.'),
    host: field(2, string, 'Name of the node that the component runs on.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'EventSource' }, 'The component that reports an event.'),
  },
);

export const eventFields = {
  involvedObject: field(2, objectReference, 'The object the event is about.', 'always'),
  reason: field(3, string, 'Short machine-readable reason of the event.'),
  message: field(4, string, 'Human-readable description of the status of the operation.'),
  source: field(5, eventSource, 'The component reporting the event.', 'always'),
  firstTimestamp: field(6, time, 'Time of the first record of the event.', 'always'),
  lastTimestamp: field(7, time, 'Time at which the latest occurrence of a core/v1 event was recorded.', 'always'),
  count: field(8, int32, 'Number of occurrences of the event.'),
  type: field(9, string, 'Type of the event: Normal, Warning, or others to come.'),
  eventTime: field(10, microTime, 'Time of the first observation of the event.', 'always'),
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

export type Event = ObjectOf<typeof eventFields>;

/**
 * Events with an eventTime are validated by the rules of events.k8s.io/v1. Errors about the reporter have
 * the name that the client knows.
 */
export function validateEvent(
  event: Event,
  current: Event | undefined,
  reporter: 'reportingComponent' | 'reportingController',
  problems: Problems,
): void {
  const about = problems.at('involvedObject');
  const inWrongNamespace = !fitsNamespace(event);
  // kube-apiserver stores events about nothing in some namespaces; the specification requires the field of new ones.
  if (isAboutNothing(event) && !(current && isAboutNothing(current)) && !inWrongNamespace) about.required();
  if (inWrongNamespace)
    about.at('namespace').invalid(event.involvedObject.namespace ?? '', 'does not match event.namespace');
  if (event.eventTime !== null) validateNewEvent(event, reporter, problems);
}

const isAboutNothing = ({ involvedObject }: Event): boolean => Object.keys(involvedObject).length === 0;

function fitsNamespace({
  eventTime,
  involvedObject: { namespace: about = '' },
  metadata: { namespace },
}: Event): boolean {
  // Objects without a namespace have their events in `default`.
  if (about === '') return namespace === 'default' || (eventTime !== null && namespace === 'kube-system');
  return eventTime !== null || about === namespace;
}

function validateNewEvent(event: Event, reporter: string, problems: Problems): void {
  const { reportingComponent, reportingInstance, action = '', reason = '', message = '' } = event;
  if (reportingComponent === '') problems.at(reporter).required();
  problems.at(reporter).check(qualifiedName, reportingComponent);
  for (const [name, text] of Object.entries({ reportingInstance, action, reason })) {
    if (text === '') problems.at(name).required();
    requireLength(text, 128, problems.at(name));
  }
  requireLength(message, 1024, problems.at('message'));
}

/** Bytes, though the text says characters: kube-apiserver measures with Go's `len` and has this text. */
function requireLength(text: string, bytesMax: number, problems: Problems): void {
  if (Buffer.byteLength(text) > bytesMax) problems.invalid('', `can have at most ${bytesMax} characters`);
}
