import { durationMs, fraction, integer, list } from '../flags/flag.ts';

/** Flags of requests. */
export const requestFlags = {
  'request-timeout': durationMs({
    default: '1m0s',
    help: 'Maximum duration of a non-watch request.',
  }),
  'min-request-timeout': integer(
    {
      default: '1800',
      help: 'Minimum duration in seconds of a watch without timeoutSeconds; each ends at a random time between this and twice this.',
    },
    [1, 2 ** 20],
  ),
  'max-requests-inflight': integer(
    {
      default: '400',
      help: 'Maximum number of non-mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-mutating-requests-inflight': integer(
    {
      default: '200',
      help: 'Maximum number of mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-watches-per-user': integer(
    {
      default: '10000',
      help: 'Maximum number of watches a user may have open on this server; requests above it are rejected with 429. 0 for no limit. Members of system:masters are exempt.',
    },
    [0, 2 ** 31 - 1],
  ),
  'cors-allowed-origins': list({
    default: '',
    help: 'Regular expressions of allowed origins, such as //board\\.example(:|$): their pages may read responses, write and open WebSockets. Pages of the requested host may always write and open WebSockets.',
  }),
  'goaway-chance': fraction(
    {
      default: '0',
      help: 'Probability that an HTTP/2 request triggers GOAWAY, so that clients reconnect and a load balancer can rebalance. Recommended with several replicas: 0.001.',
    },
    [0, 0.02],
  ),
  'shutdown-delay-duration': durationMs({
    default: '0s',
    help: 'Time to keep serving after a termination signal while /readyz fails, so that load balancers stop sending requests.',
  }),
  'delete-collection-workers': integer(
    { default: '1', help: 'Number of concurrent deletions per collection delete.' },
    [1, 1000],
  ),
};
