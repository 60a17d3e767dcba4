import { type Clock, sleep } from '@cluster-apiserver/base';
import https from 'node:https';
import { json } from 'node:stream/consumers';

/** An example user with limited permissions. */
export const developer = { user: 'developer', namespace: 'default', role: 'edit' } as const;

export interface DeveloperOptions {
  /** URL of the cluster. */
  readonly url: string;
  readonly ca: string;
  /** Token of the administrator. */
  readonly token: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The namespace and the default roles may be created shortly after the cluster is ready. */
const attemptsMax = 50;
const pauseMs = 200;
const answerTimeoutMs = 5_000;

/**
 * Binds the developer to the role through the API. Keeps an existing binding, which the user may have changed. Throws if the
 * binding cannot be created.
 */
export async function bindDeveloper(options: DeveloperOptions): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const problem = await createBinding(options);
    if (problem === undefined) return;
    if (attempt === attemptsMax) throw new Error(`RoleBinding ${developer.namespace}/${developer.user}: ${problem}`);
    await sleep(options.clock, pauseMs, options.signal);
  }
}

/** Returns the problem, or undefined if the binding exists. */
async function createBinding({ url, ca, token }: DeveloperOptions): Promise<string | undefined> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const body = JSON.stringify({
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name: developer.user, namespace: developer.namespace },
    roleRef: { apiGroup, kind: 'ClusterRole', name: developer.role },
    subjects: [{ apiGroup, kind: 'User', name: developer.user }],
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `/apis/${apiGroup}/v1/namespaces/${developer.namespace}/rolebindings`;
  return new Promise((resolve) => {
    const request = https.request(`${url}${path}`, {
      agent: false,
      ca,
      headers,
      method: 'POST',
      timeout: answerTimeoutMs,
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', ({ message }) => resolve(message));
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      json(response).then(
        (answer) => resolve(status === 201 || status === 409 ? undefined : `${status} ${readMessage(answer)}`),
        (error: unknown) => resolve(String(error)),
      );
    });
    request.end(body);
  });
}

function readMessage(answer: unknown): string {
  const message = typeof answer === 'object' && answer !== null && 'message' in answer ? answer.message : undefined;
  return typeof message === 'string' ? message : '';
}
