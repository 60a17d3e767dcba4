/** Authentication configurations for tests. */
import { until } from '../../../base/test/until.ts';
import { kinds } from '@cluster-apiserver/kinds';
import { type ServedKinds, type ServeOptions, serveKinds } from '../serve-kinds.ts';
import { audience, type RealIssuer } from './issuer.ts';

export const file = 'authentication.yaml';
export const flag = `--authentication-config=${file}`;

export const configuration = (part: object): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'AuthenticationConfiguration', ...part });

/** Believes an issuer; who it is comes out of `sub`, behind a prefix. */
export const believes = ({ url, certificateAuthority }: RealIssuer, part: object = {}, prefix = 'p:'): object => ({
  issuer: { url, certificateAuthority, audiences: [audience] },
  claimMappings: { username: { claim: 'sub', prefix }, groups: { claim: 'groups', prefix: '' } },
  ...part,
});

export const serve = (content: string, options: ServeOptions = {}): Promise<ServedKinds> =>
  serveKinds(kinds, {
    ...options,
    flags: [flag, ...(options.flags ?? [])],
    files: { ...options.files, [file]: content },
  });

/** Takes a configuration into service, or has it refused, and returns when the server says so. */
export async function reconfigure(server: ServedKinds, content: string): Promise<void> {
  const before = server.logged.length;
  await server.write(file, content);
  await until('the new configuration', () =>
    server.logged.slice(before).some((line) => line.includes('configuration="authentication"')) ? true : undefined,
  );
}
