/** Authorization configurations for tests. */
import { until } from '@cluster-apiserver/testkit/until';
import { kinds } from '@cluster-apiserver/kinds';
import { sendRequest, type ReceivedResponse } from '../authentication/send-request.ts';
import { type TestServer, type TestServerOptions, serveKinds } from '../serve-kinds.ts';

const file = 'authorization.yaml';
const flag = `--authorization-config=${file}`;

export const configuration = (...authorizers: object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'AuthorizationConfiguration', authorizers });

export const serve = (content: string, options: TestServerOptions = {}): Promise<TestServer> =>
  serveKinds(kinds, {
    ...options,
    flags: [flag, ...(options.flags ?? [])],
    files: { ...options.files, [file]: content },
  });

/** Writes a file, and returns when the server has logged `logged`. */
export async function rewriteFile(server: TestServer, path: string, content: string, logged: string): Promise<void> {
  const before = server.logLines.length;
  await server.write(path, content);
  await until(logged, () => server.logLines.slice(before).some((line) => line.includes(logged)) || undefined);
}

/** Writes a configuration, and returns when it was applied or rejected. */
export const reconfigure = (server: TestServer, content: string): Promise<void> =>
  rewriteFile(server, file, content, 'configuration="authorization"');

const accounts = '/api/v1/namespaces/team/serviceaccounts';

/** Lists service accounts as an impersonated user, who has no permission for it by default. */
export const requestAs = (
  server: TestServer,
  user: string,
  path = accounts,
  groups = 'devs',
): Promise<ReceivedResponse> =>
  sendRequest(server, server.token, { path, headers: { 'impersonate-user': user, 'impersonate-group': groups } });

/** The sum of a metric's series with these labels; 0 if there are none. */
export async function metric(server: TestServer, name: string, labels: Readonly<Record<string, string>> = {}) {
  const { text } = await sendRequest(server, server.token, { path: '/metrics' });
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  const found = lines.filter((line) =>
    Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
  );
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
