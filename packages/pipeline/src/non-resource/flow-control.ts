import type { Clock } from '@cluster-apiserver/base';
import type { FlowControl } from '@cluster-apiserver/gates';
import { formatTime } from '@cluster-apiserver/model';
import { textResponse } from '../responses.ts';
import type { NonResourceHandler } from './live-routes.ts';
import type { NonResourceRoutes } from './router.ts';

const prefix = '/debug/api_priority_and_fairness';

/** What the priority levels do now, as aligned columns for people, like kube-apiserver's. */
export const flowControlRoutes = (control: FlowControl, clock: Clock): NonResourceRoutes => ({
  [`${prefix}/dump_priority_levels`]: tableOf(() => levelRows(control)),
  [`${prefix}/dump_queues`]: tableOf(() => queueRows(control)),
  [`${prefix}/dump_requests`]: tableOf((query) =>
    requestRows(control, clock, isTrue(query.get('includeRequestDetails'))),
  ),
});

const tableOf =
  (rowsOf: (query: URLSearchParams) => readonly Row[]): NonResourceHandler =>
  ({ auditId, info: { query } }) =>
    textResponse(auditId, 200, alignColumns(rowsOf(query)));

/** As Go reads a boolean. */
const isTrue = (text: string | null): boolean => text !== null && /^(?:1|t|true)$/i.test(text);

type Row = readonly (string | number | boolean)[];

function alignColumns(rows: readonly Row[]): string {
  const texts = rows.map((row) => row.map((value, at) => (at < row.length - 1 ? `${value},` : String(value))));
  const widths = texts[0]?.map((_, at) => texts.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0)) ?? [];
  return texts
    .map(
      (row) =>
        `${row
          .map((text, at) => text.padEnd(widths[at] ?? 0))
          .join(' ')
          .trimEnd()}\n`,
    )
    .join('');
}

const levelRows = ({ levels }: FlowControl): readonly Row[] => [
  [
    'PriorityLevelName',
    'ActiveQueues',
    'IsIdle',
    'IsQuiescing',
    'WaitingRequests',
    'ExecutingRequests',
    'DispatchedRequests',
    'RejectedRequests',
    'TimedoutRequests',
    'CancelledRequests',
  ],
  ...Array.from(levels, ({ name, queues, waiting, executing, isRemoved, counts }) => [
    name,
    queues.size,
    waiting + executing === 0,
    isRemoved,
    waiting,
    executing,
    counts.dispatched,
    counts.rejected,
    counts.timedOut,
    counts.cancelled,
  ]),
];

const queueRows = ({ levels }: FlowControl): readonly Row[] => [
  [
    'PriorityLevelName',
    'Index',
    'PendingRequests',
    'ExecutingRequests',
    'SeatsInUse',
    'NextDispatchR',
    'InitialSeatsSum',
  ],
  ...Array.from(levels).flatMap(({ name, queues }) =>
    Array.from(queues.values(), ({ index, waiting, executing, seats, virtualMs }) => [
      name,
      index,
      waiting.length,
      executing,
      seats,
      `${(virtualMs / msPerSecond).toFixed(3)}ss`,
      waiting.reduce((sum, entry) => sum + entry.seats, 0),
    ]),
  ),
];

/** Of a server that waits for more than that, the first ones say enough. */
const rowsMax = 10_000;

/** Those that wait. One that runs is not found by its flow. */
function requestRows({ levels }: FlowControl, clock: Clock, isDetailed: boolean): readonly Row[] {
  const rows: Row[] = [
    [
      'PriorityLevelName',
      'FlowSchemaName',
      'QueueIndex',
      'RequestIndexInQueue',
      'FlowDistingsher',
      'ArriveTime',
      'InitialSeats',
      ...(isDetailed ? ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'Resource', 'SubResource'] : []),
    ],
  ];
  const monotonicOffsetMs = clock.now() - clock.monotonicMs();
  for (const { name, queues } of levels)
    for (const { index, waiting } of queues.values())
      for (const [place, { schema, flow, sinceMs, seats, request }] of waiting.entries()) {
        if (rows.length > rowsMax) return rows;
        const { verb, path, resource } = request.info;
        rows.push([
          name,
          schema,
          index,
          place,
          flow,
          formatTime(sinceMs + monotonicOffsetMs),
          seats,
          ...(isDetailed
            ? [
                request.user.name,
                verb,
                path,
                resource?.namespace ?? '',
                resource?.name ?? '',
                resource?.plural ?? '',
                resource?.subresource ?? '',
              ]
            : []),
        ]);
      }
  return rows;
}

const msPerSecond = 1_000;
