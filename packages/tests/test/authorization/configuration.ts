/** Authorization configurations for tests. */
import { until } from '../../../base/test/until.ts';
import { kinds } from '@cluster-apiserver/kinds';
import { ask, type Told } from '../authentication/caller.ts';
import { type ServedKinds, type ServeOptions, serveKinds } from '../serve-kinds.ts';

const file = 'authorization.yaml';
const flag = `--authorization-config=${file}`;

export const configuration = (...authorizers: object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'AuthorizationConfiguration', authorizers });

export const serve = (content: string, options: ServeOptions = {}): Promise<ServedKinds> =>
  serveKinds(kinds, {
    ...options,
    flags: [flag, ...(options.flags ?? [])],
    files: { ...options.files, [file]: content },
  });

/** Writes a file, and returns when the server has logged what it makes of it. */
export async function rewrite(server: ServedKinds, path: string, content: string, logged: string): Promise<void> {
  const before = server.logged.length;
  await server.write(path, content);
  await until(logged, () => server.logged.slice(before).some((line) => line.includes(logged)) || undefined);
}

/** Applies a configuration, or has it refused. */
export const reconfigure = (server: ServedKinds, content: string): Promise<void> =>
  rewrite(server, file, content, 'configuration="authorization"');

const accounts = '/api/v1/namespaces/team/serviceaccounts';

/** Lists what somebody has no right to by default, as one whom the admin impersonates. */
export const askAs = (server: ServedKinds, user: string, path = accounts, groups = 'devs'): Promise<Told> =>
  ask(server, server.token, { path, headers: { 'impersonate-user': user, 'impersonate-group': groups } });

/** The value of a metric with these labels; 0 if there is none yet. */
export async function metric(server: ServedKinds, name: string, labels: Readonly<Record<string, string>> = {}) {
  const { text } = await ask(server, server.token, { path: '/metrics' });
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  const found = lines.filter((line) =>
    Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
  );
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
