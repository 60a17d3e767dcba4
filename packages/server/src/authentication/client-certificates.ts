import { pollChanges, type CleanupStack, requireValue } from '@cluster-apiserver/base';
import { type Authorities, readAuthorities, sharesAuthority } from '@cluster-apiserver/certificates';
import {
  type Authenticator,
  createClientCertificateAuthenticator,
  createFrontProxyAuthenticator,
} from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import type { WiringContext } from '../configuration/context.ts';
import { readFlagFile } from '../files/flag-files.ts';

const ofClients = 'client-ca-file';
const ofProxies = 'requestheader-client-ca-file';

/** Whether the TLS handshake requests client certificates. */
export const requestsClientCertificates = (flags: ServerFlags): boolean =>
  flags[ofClients] !== '' || flags[ofProxies] !== '';

/** Authenticators by client certificate. Front proxies come first: their certificates may be valid for clients, too. */
export async function openClientCertificates(
  options: ClientCertificateOptions,
  cleanup: CleanupStack,
): Promise<readonly Authenticator[]> {
  const { flags, environment } = options;
  const { clock } = environment;
  const allowedNames = flags['requestheader-allowed-names'];
  const current: Partial<Record<AuthorityFlag, Authorities>> = {};
  const use = (flag: AuthorityFlag, next: Authorities): void => {
    const other = current[flag === ofClients ? ofProxies : ofClients];
    // Otherwise every client with a certificate could impersonate any user by headers.
    if (allowedNames.length === 0 && other && sharesAuthority(next, other))
      throw new Error(
        `--${ofClients} and --${ofProxies} share an authority, so --requestheader-allowed-names is needed`,
      );
    current[flag] = next;
  };
  const known = async (flag: AuthorityFlag): Promise<(() => Authorities) | undefined> => {
    if (!(await followAuthorities(flag, options, cleanup, (next) => use(flag, next)))) return undefined;
    return () => requireValue(current[flag], 'followAuthorities has set it, and it is never removed');
  };
  const clients = await known(ofClients);
  const proxies = await known(ofProxies);
  const headers = {
    user: toHeaderNames(flags['requestheader-username-headers']),
    uid: toHeaderNames(flags['requestheader-uid-headers']),
    group: toHeaderNames(flags['requestheader-group-headers']),
    extraPrefix: toHeaderNames(flags['requestheader-extra-headers-prefix']),
  };
  return [
    ...(proxies ? [createFrontProxyAuthenticator({ authorities: proxies, allowedNames, headers, clock })] : []),
    ...(clients
      ? [createClientCertificateAuthenticator(clients, clock, createExpirationMeasure(options.metrics))]
      : []),
  ];
}

type AuthorityFlag = typeof ofClients | typeof ofProxies;

export interface ClientCertificateOptions
  extends Pick<WiringContext, 'flags' | 'environment' | 'log' | 'metrics' | 'records'> {
  readonly certificates: CertificateMeasures;
}

const useOf = { [ofClients]: 'client-ca', [ofProxies]: 'requestheader-client-ca' } as const;

/** Buckets of kube-apiserver: from an expired certificate to a year, in seconds. */
const remainingBuckets = [
  0, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000,
  31_104_000,
];

function createExpirationMeasure(metrics: Metrics): (remainingSeconds: number) => void {
  return metrics
    .histogram({
      name: 'apiserver_client_certificate_expiration_seconds',
      help: 'Distribution of the remaining lifetime on the certificate used to authenticate a request.',
      buckets: remainingBuckets,
    })
    .series({});
}

const toHeaderNames = (headers: readonly string[]): string[] => headers.map((header) => header.toLowerCase());

/** Short, so that a removed CA stops being trusted within seconds. The file is small. */
const pollMs = 1_000;

function useFile<T>(flag: AuthorityFlag, file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new FlagError([`--${flag}: ${file} is not usable: ${asError(error).message}`]);
  }
}

/** The CA bundles that flags name. Throws a FlagError for a file that is none. */
export async function loadAuthorities(flag: AuthorityFlag, flags: ServerFlags, files: Files): Promise<void> {
  const content = await readFlagFile(flag, flags, files);
  if (content) useFile(flag, flags[flag], () => readAuthorities(content.toString()));
}

async function followAuthorities(
  flag: AuthorityFlag,
  { flags, environment: { clock, files }, log, certificates, records }: ClientCertificateOptions,
  cleanup: CleanupStack,
  use: (next: Authorities) => void,
): Promise<boolean> {
  const first = await readFlagFile(flag, flags, files);
  if (!first) return false;
  const file = flags[flag];
  useFile(flag, file, () => use(readAuthorities(first.toString())));
  const record = records.add({ flag, kind: 'certificates', path: file });
  record.applied(first);
  certificates.inUse(useOf[flag], first);
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read: () => files.read(file),
      isEqual: (one, other) => one.equals(other),
      apply: (content) => {
        use(readAuthorities(content.toString()));
        record.applied(content);
        certificates.inUse(useOf[flag], content);
        certificates.reloaded(useOf[flag], 'success');
        log.withName('authentication').info('client CA bundle reloaded', { flag, file });
      },
      onError: (error) => {
        record.failed(error);
        certificates.reloaded(useOf[flag], 'failure');
        log.withName('authentication').error('cannot reload the client CA bundle; keeping the previous one', {
          flag,
          file,
          error: asError(error),
        });
      },
    },
    first,
  );
  cleanup.defer(`--${flag}`, stop);
  return true;
}
