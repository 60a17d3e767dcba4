import { asError, type CleanupStack } from '@cluster-apiserver/base';
import { type Authorities, readAuthorities, sharesAuthority } from '@cluster-apiserver/certificates';
import {
  type Authenticator,
  createClientCertificateAuthenticator,
  createFrontProxyAuthenticator,
} from '@cluster-apiserver/gates';
import type { Files } from '../environment.ts';
import { type FlagFile, readFlagFile } from '../files/flag-files.ts';
import { type Followed, followFiles } from '../files/follow-files.ts';
import type { ServerContext } from '../configuration/context.ts';
import { FlagError } from '../flags/flag.ts';
import type { AuthenticationSettings } from './authentication-settings.ts';

/** Authenticators by client certificate. Front proxies come first: their certificates may be valid for clients, too. */
export async function openClientCertificates(
  { clientCaFile, frontProxies }: AuthenticationSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<readonly Authenticator[]> {
  const { environment, metrics } = context;
  const { clock } = environment;
  const { caFile, allowedNames, headers } = frontProxies;
  const followed: { clients?: Followed<Authorities>; proxies?: Followed<Authorities> } = {};
  // Otherwise every client with a certificate could impersonate any user by headers.
  const requireOther = (next: Authorities, other: Followed<Authorities> | undefined): void => {
    if (allowedNames.length === 0 && other && sharesAuthority(next, other.current()))
      throw new Error(
        '--client-ca-file and --requestheader-client-ca-file share an authority, so --requestheader-allowed-names is needed',
      );
  };
  if (clientCaFile)
    followed.clients = await followAuthorities(
      { file: clientCaFile, use: 'client-ca', check: (next) => requireOther(next, followed.proxies) },
      context,
      cleanup,
    );
  if (caFile)
    followed.proxies = await followAuthorities(
      { file: caFile, use: 'requestheader-client-ca', check: (next) => requireOther(next, followed.clients) },
      context,
      cleanup,
    );
  const { clients, proxies } = followed;
  return [
    ...(proxies ? [createFrontProxyAuthenticator({ authorities: proxies.current, allowedNames, headers, clock })] : []),
    ...(clients ? [createClientCertificateAuthenticator(clients.current, clock, metrics)] : []),
  ];
}

interface AuthoritiesFile {
  readonly file: FlagFile;
  readonly use: 'client-ca' | 'requestheader-client-ca';
  /** Throws for authorities that must not be used. */
  readonly check: (next: Authorities) => void;
}

async function followAuthorities(
  { file, use, check }: AuthoritiesFile,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Followed<Authorities>> {
  const followed = await followFiles(
    {
      name: 'client CA bundle',
      files: [{ ...file, kind: 'certificates' }],
      read: () => readFlagFile(file, context.environment.files),
      bytesOf: (content) => [content],
      build: (content) => parseAuthorities(file, content, check),
      measures: context.certificates(use, [use]),
    },
    context,
  );
  cleanup.defer(`--${file.flag}`, followed.close);
  return followed;
}

function parseAuthorities(
  { flag, path }: FlagFile,
  content: Buffer,
  check: (next: Authorities) => void = () => {},
): Authorities {
  try {
    const authorities = readAuthorities(content.toString());
    check(authorities);
    return authorities;
  } catch (error) {
    throw new FlagError([`--${flag}: ${path} is not usable: ${asError(error).message}`]);
  }
}

/** Throws a FlagError for a file that is no CA bundle. */
export async function loadAuthorities(file: FlagFile | undefined, files: Files): Promise<void> {
  if (file) parseAuthorities(file, await readFlagFile(file, files));
}
