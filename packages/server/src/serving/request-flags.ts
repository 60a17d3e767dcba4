import { boolean, durationMs, fraction, integer, list } from '../flags/flag.ts';

/** Flags of requests. */
export const requestFlags = {
  'request-timeout': durationMs('Maximum duration of a non-watch request.', '1m0s'),
  'min-request-timeout': integer(
    'Minimum duration in seconds of a watch without timeoutSeconds; each ends at a random time between this and twice this.',
    '1800',
    [1, 2 ** 20],
  ),
  'max-requests-inflight': integer(
    'Maximum number of non-mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    '400',
    [0, 2 ** 20],
  ),
  'max-mutating-requests-inflight': integer(
    'Maximum number of mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    '200',
    [0, 2 ** 20],
  ),
  'enable-priority-and-fairness': boolean(
    'Limit requests by FlowSchemas and PriorityLevelConfigurations: both limits above together are the seats of all levels. Without it, each limit holds for itself.',
    'true',
  ),
  'max-watches-per-user': integer(
    'Maximum number of watches a user may have open on this server; requests above it are rejected with 429. 0 for no limit. Members of system:masters are exempt.',
    '10000',
    [0, 2 ** 31 - 1],
  ),
  'cors-allowed-origins': list(
    'Regular expressions of allowed origins, such as //board\\.example(:|$): their pages may read responses, write and open WebSockets. Pages of the requested host may always write and open WebSockets.',
  ),
  'goaway-chance': fraction(
    'Probability that an HTTP/2 request triggers GOAWAY, so that clients reconnect and a load balancer can rebalance. Recommended with several replicas: 0.001.',
    '0',
    [0, 0.02],
  ),
  'shutdown-delay-duration': durationMs(
    'Time to keep serving after a termination signal while /readyz fails, so that load balancers stop sending requests.',
    '0s',
  ),
  'delete-collection-workers': integer('Number of concurrent deletions per collection delete.', '1', [1, 1000]),
};
