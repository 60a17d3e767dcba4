import { follow, type Scope } from '@cluster-apiserver/base';
import { type Authorities, readAuthorities, sharesAuthority } from '@cluster-apiserver/certificates';
import { type Authenticator, clientCertificates, frontProxy } from '@cluster-apiserver/gates';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags.ts';
import type { FollowingOptions } from './followed-configuration.ts';
import { flagFile } from './flag-files.ts';

const ofClients = 'client-ca-file';
const ofProxies = 'requestheader-client-ca-file';

/** Whether anybody here looks at certificates of clients. */
export const asksForCertificates = (flags: ServerFlags): boolean => flags[ofClients] !== '' || flags[ofProxies] !== '';

/** Those who know a caller by the connection: proxies that speak for others first, because they come with certificates too. */
export async function openClientCertificates(
  options: Pick<FollowingOptions, 'flags' | 'surroundings' | 'log' | 'records'>,
  scope: Scope,
): Promise<readonly Authenticator[]> {
  const { flags, surroundings } = options;
  const { clock } = surroundings;
  const allowedNames = flags['requestheader-allowed-names'];
  const current: Partial<Record<AuthorityFlag, Authorities>> = {};
  const use = (flag: AuthorityFlag, next: Authorities): void => {
    const other = current[flag === ofClients ? ofProxies : ofClients];
    // Everybody with a certificate could otherwise say in a header who he wants to be.
    if (allowedNames.length === 0 && other && sharesAuthority(next, other))
      throw new Error(
        `--${ofClients} and --${ofProxies} share an authority, so --requestheader-allowed-names is needed`,
      );
    current[flag] = next;
  };
  const known = async (flag: AuthorityFlag): Promise<(() => Authorities) | undefined> => {
    if (!(await followAuthorities(flag, options, scope, (next) => use(flag, next)))) return undefined;
    return () => current[flag] as Authorities; // set before anybody asks, and never taken away
  };
  const clients = await known(ofClients);
  const proxies = await known(ofProxies);
  const headers = {
    user: names(flags['requestheader-username-headers']),
    uid: names(flags['requestheader-uid-headers']),
    group: names(flags['requestheader-group-headers']),
    extraPrefix: names(flags['requestheader-extra-headers-prefix']),
  };
  return [
    ...(proxies ? [frontProxy({ authorities: proxies, allowedNames, headers, clock })] : []),
    ...(clients ? [clientCertificates(clients, clock)] : []),
  ];
}

type AuthorityFlag = typeof ofClients | typeof ofProxies;

const names = (headers: readonly string[]): string[] => headers.map((header) => header.toLowerCase());

/** A small file. Who takes an authority away waits for that to count, and not for much longer than a look at a terminal. */
const pollMs = 1_000;

async function followAuthorities(
  flag: AuthorityFlag,
  {
    flags,
    surroundings: { clock, files },
    log,
    records,
  }: Pick<FollowingOptions, 'flags' | 'surroundings' | 'log' | 'records'>,
  scope: Scope,
  use: (next: Authorities) => void,
): Promise<boolean> {
  const first = await flagFile(flag, flags, files);
  if (!first) return false;
  const file = flags[flag];
  try {
    use(readAuthorities(first.toString()));
  } catch (error) {
    throw new FlagError([`--${flag}: ${file} is not usable: ${asError(error).message}`]);
  }
  const record = records.add({ flag, kind: 'certificates', path: file });
  record.applied(first);
  const stop = follow(
    {
      clock,
      pollMs,
      read: () => files.read(file),
      same: (one, other) => one.equals(other),
      use: (content) => {
        use(readAuthorities(content.toString()));
        record.applied(content);
        log.info('client CA bundle reloaded', { flag, file });
      },
      failed: (error) => {
        record.failed(error);
        log.error('cannot reload the client CA bundle; keeping the previous one', {
          flag,
          file,
          error: asError(error),
        });
      },
    },
    first,
  );
  scope.onClose(`--${flag}`, stop);
  return true;
}
