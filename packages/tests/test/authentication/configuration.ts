/** Authentication configurations for tests. */
import { until } from '@cluster-apiserver/testkit/until';
import { kinds } from '@cluster-apiserver/kinds';
import { type TestServer, type TestServerOptions, serveKinds } from '../serve-kinds.ts';
import { audience, type RealIssuer } from './issuer.ts';

export const file = 'authentication.yaml';
export const flag = `--authentication-config=${file}`;

export const configuration = (part: object): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'AuthenticationConfiguration', ...part });

/** A JWT authenticator that trusts an issuer; the username is `sub` with a prefix. */
export const jwtAuthenticator = (
  { url, certificateAuthority }: RealIssuer,
  part: object = {},
  prefix = 'p:',
): object => ({
  issuer: { url, certificateAuthority, audiences: [audience] },
  claimMappings: { username: { claim: 'sub', prefix }, groups: { claim: 'groups', prefix: '' } },
  ...part,
});

export const serve = (content: string, options: TestServerOptions = {}): Promise<TestServer> =>
  serveKinds(kinds, {
    ...options,
    flags: [flag, ...(options.flags ?? [])],
    files: { ...options.files, [file]: content },
  });

/** Writes a configuration, and returns when the server has logged that it was applied or rejected. */
export async function reconfigure(server: TestServer, content: string): Promise<void> {
  const before = server.logLines.length;
  await server.write(file, content);
  await until('the new configuration', () =>
    server.logLines.slice(before).some((line) => line.includes('configuration="authentication"')) ? true : undefined,
  );
}
