import { durationMs, fraction, integer, list } from '../flag.ts';

/** Flags of requests, and of what the server does as a whole. */
export const genericFlags = {
  'request-timeout': durationMs({
    fallback: '1m0s',
    help: 'How long a request may take, unless it is a watch.',
  }),
  'min-request-timeout': integer(
    {
      fallback: '1800',
      help: 'Seconds after which, and within as many again, a watch ends that names no end.',
    },
    [1, 2 ** 20],
  ),
  'max-requests-inflight': integer(
    {
      fallback: '400',
      help: 'Maximum number of non-mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-mutating-requests-inflight': integer(
    {
      fallback: '200',
      help: 'Maximum number of mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-watches-per-user': integer(
    {
      fallback: '10000',
      help: 'Maximum number of watches a user may have open on this server; requests above it are rejected with 429. 0 for no limit. Members of system:masters are exempt.',
    },
    [0, 2 ** 31 - 1],
  ),
  'cors-allowed-origins': list({
    fallback: '',
    help: 'Regular expressions of allowed origins, such as //board\\.example(:|$): their pages may read responses, write and open WebSockets. Pages of the requested host may always write and open WebSockets.',
  }),
  'goaway-chance': fraction(
    {
      fallback: '0',
      help: 'How likely an HTTP/2 request makes its client open the next ones on a new connection, so that a load balancer can choose anew; 0.001 is a good beginning with several replicas.',
    },
    [0, 0.02],
  ),
  'shutdown-delay-duration': durationMs({
    fallback: '0s',
    help: 'After a signal to stop: how long to serve on while /readyz already fails, so that load balancers notice.',
  }),
  'delete-collection-workers': integer(
    { fallback: '1', help: 'How many objects of a collection are deleted at a time.' },
    [1, 1000],
  ),
  controllers: list({
    fallback: '*',
    help: 'Controllers to run: * for all, name for one, -name for all but one. There are garbage-collector, namespace-controller, clusterrole-aggregation-controller.',
  }),
};
