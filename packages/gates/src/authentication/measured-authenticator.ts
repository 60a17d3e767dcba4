import { type Call, type Clock, settle } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { createResultCounter } from '../result-counter.ts';
import type { Authenticator, Credentials } from './authenticator.ts';

/** As in kube-apiserver: `failure` means no known credential, `error` a rejected or unverifiable one. */
const results = ['success', 'failure', 'error'] as const;

/** Measures each attempt of an authenticator. */
export function createMeasuredAuthenticator(inner: Authenticator, clock: Clock, metrics: Metrics): Authenticator {
  const count = createResultCounter(
    metrics,
    results,
    { name: 'authentication_attempts', help: 'Counter of authenticated attempts.' },
    {
      name: 'authentication_duration_seconds',
      help: 'Authentication duration in seconds broken out by result.',
    },
  );
  const countUser = createUserCounter(metrics);
  const attempt = ({ credentials, call }: Attempt): ReturnType<Authenticator['authenticate']> =>
    inner.authenticate(credentials, call);
  const ended = (user: UserInfo | undefined, { startMs }: Attempt): UserInfo | undefined => {
    count(user ? 'success' : 'failure', (clock.monotonicMs() - startMs) / 1000);
    if (user) countUser(user);
    return user;
  };
  const failed = (error: unknown, { startMs }: Attempt): never => {
    count('error', (clock.monotonicMs() - startMs) / 1000);
    throw error;
  };
  return {
    authenticate: (credentials, call) =>
      settle(attempt, { credentials, call, startMs: clock.monotonicMs() }, ended, failed),
  };
}

interface Attempt {
  readonly credentials: Credentials;
  readonly call: Call;
  readonly startMs: number;
}

/** As in kube-apiserver; a series per user would be too many. */
const knownUsers: readonly string[] = [
  'admin',
  'client',
  'kube_proxy',
  'kubelet',
  'system:serviceaccount:kube-system:default',
];
const emailUser = 'email_id';
const otherUser = 'other';

function createUserCounter(metrics: Metrics): (user: UserInfo) => void {
  const requests = metrics.counter({
    name: 'authenticated_user_requests',
    help: 'Counter of authenticated requests broken out by username.',
    labels: { username: [...knownUsers, emailUser, otherUser] },
  });
  const ofOthers = requests.series({ username: otherUser });
  const ofEmails = requests.series({ username: emailUser });
  const ofKnown = new Map(knownUsers.map((username) => [username, requests.series({ username })]));
  return ({ name }) => (ofKnown.get(name) ?? (name.includes('@') ? ofEmails : ofOthers))();
}
