import type {
  AuthenticationResult,
  AuthorizationResult,
  ObserveAuthentication,
  ObserveAuthorization,
} from '@cluster-apiserver/gates';
import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';

/** Buckets of kube-apiserver, from 1 ms to 16 s. */
const secondsBuckets = createDoublingBuckets(0.001, 15);

const authenticationResults: readonly AuthenticationResult[] = ['success', 'failure', 'error'];
const authorizationResults: readonly AuthorizationResult[] = ['allowed', 'denied', 'no-opinion', 'error'];

/** The authentication metrics of kube-apiserver. */
export function createAuthenticationMeasures(metrics: Metrics): ObserveAuthentication {
  const attempts = metrics.counter({
    name: 'authentication_attempts',
    help: 'Counter of authenticated attempts.',
    labels: { result: authenticationResults },
  });
  const duration = metrics.histogram({
    name: 'authentication_duration_seconds',
    help: 'Authentication duration in seconds broken out by result.',
    labels: { result: authenticationResults },
    buckets: secondsBuckets,
  });
  const requests = metrics.counter({
    name: 'authenticated_user_requests',
    help: 'Counter of authenticated requests broken out by username.',
    labels: { username: [...knownUsers, emailUser, otherUser] },
  });
  const seriesOf = (result: AuthenticationResult) => ({
    count: attempts.series({ result }),
    observe: duration.series({ result }),
  });
  const series = { success: seriesOf('success'), failure: seriesOf('failure'), error: seriesOf('error') };
  const ofOthers = requests.series({ username: otherUser });
  const ofEmails = requests.series({ username: emailUser });
  const ofKnown = new Map([...knownUsers].map((username) => [username, requests.series({ username })]));
  return (result, seconds, user) => {
    const { count, observe } = series[result];
    count();
    observe(seconds);
    if (user) (ofKnown.get(user.name) ?? (user.name.includes('@') ? ofEmails : ofOthers))();
  };
}

/** As in kube-apiserver; a series per user would be too many. */
const knownUsers: ReadonlySet<string> = new Set([
  'admin',
  'client',
  'kube_proxy',
  'kubelet',
  'system:serviceaccount:kube-system:default',
]);
const emailUser = 'email_id';
const otherUser = 'other';

/** The authorization metrics of kube-apiserver. */
export function createAuthorizationAttemptMeasures(metrics: Metrics): ObserveAuthorization {
  const attempts = metrics.counter({
    name: 'authorization_attempts_total',
    help: "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'. Includes the permissions that impersonation requires.",
    labels: { result: authorizationResults },
  });
  const duration = metrics.histogram({
    name: 'authorization_duration_seconds',
    help: 'Authorization duration in seconds broken out by result.',
    labels: { result: authorizationResults },
    buckets: secondsBuckets,
  });
  const seriesOf = (result: AuthorizationResult) => ({
    count: attempts.series({ result }),
    observe: duration.series({ result }),
  });
  const series = {
    allowed: seriesOf('allowed'),
    denied: seriesOf('denied'),
    'no-opinion': seriesOf('no-opinion'),
    error: seriesOf('error'),
  };
  return (result, seconds) => {
    const { count, observe } = series[result];
    count();
    observe(seconds);
  };
}
