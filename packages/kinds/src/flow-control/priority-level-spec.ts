import { field, int32, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { publication } from './flow-control.ts';

const queuingSchema = object(
  {
    queues: field(1, int32, 'Number of queues. More make collisions of flows rarer. Defaults to 64.', 'always'),
    handSize: field(2, int32, 'Number of queues that a flow may use. Defaults to 8.', 'always'),
    queueLengthLimit: field(3, int32, 'Maximum number of requests that wait in a queue. Defaults to 50.', 'always'),
  },
  publication('QueuingConfiguration', 'Queues of waiting requests.'),
);

const limitResponseSchema = object(
  {
    type: field(1, string, 'Queue lets requests wait, Reject refuses them with 429.', 'always'),
    queuing: field(2, queuingSchema, 'Queues of waiting requests; for Queue alone.', 'given'),
  },
  publication('LimitResponse', 'Treatment of requests for which there are no seats.', ['type']),
);

const limitedSchema = object(
  {
    nominalConcurrencyShares: field(
      1,
      int32,
      'Share of the seats of the server, in proportion to the shares of all levels. Defaults to 30.',
      'given',
    ),
    limitResponse: field(2, limitResponseSchema, 'Treatment of requests for which there are no seats.', 'always'),
    lendablePercent: field(
      3,
      int32,
      'Part of the seats that other levels may borrow, in percent. Defaults to 0.',
      'given',
    ),
    borrowingLimitPercent: field(
      4,
      int32,
      'Seats that the level may borrow at most, in percent of its own. Unlimited by default.',
      'given',
    ),
  },
  publication('LimitedPriorityLevelConfiguration', 'A level whose requests are limited.'),
);

const exemptSchema = object(
  {
    nominalConcurrencyShares: field(1, int32, 'Share of the seats that it can lend. Defaults to 0.', 'given'),
    lendablePercent: field(
      2,
      int32,
      'Part of the seats that other levels may borrow, in percent. Defaults to 0.',
      'given',
    ),
  },
  publication('ExemptPriorityLevelConfiguration', 'A level whose requests are never limited.'),
);

export const priorityLevelSpec = object(
  {
    type: field(1, string, 'Limited, or Exempt for the level `exempt`.', 'always'),
    limited: field(2, limitedSchema, 'Limits of the level; for Limited alone.', 'given'),
    exempt: field(3, exemptSchema, 'Seats that the level lends; for Exempt alone.', 'given'),
  },
  publication('PriorityLevelConfigurationSpec', 'Limit of concurrent requests, and the queues of others.', ['type']),
);

export type PriorityLevelSpec = ValueOf<typeof priorityLevelSpec>;
export type LimitedLevel = ValueOf<typeof limitedSchema>;
export type Queuing = ValueOf<typeof queuingSchema>;
