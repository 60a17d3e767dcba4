import type { CleanupStack } from '@cluster-apiserver/base';
import { type Authorities, readAuthorities, sharesAuthority } from '@cluster-apiserver/certificates';
import {
  type Authenticator,
  createClientCertificateAuthenticator,
  createFrontProxyAuthenticator,
} from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import { type FlagFile, fileOf, readFlagFile } from '../files/flag-files.ts';
import { type Followed, followFiles } from '../files/follow-files.ts';
import type { WiringContext } from '../configuration/context.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';

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
  const followed: { clients?: Followed<Authorities>; proxies?: Followed<Authorities> } = {};
  // Otherwise every client with a certificate could impersonate any user by headers.
  const requireOther = (next: Authorities, other: Followed<Authorities> | undefined): void => {
    if (allowedNames.length === 0 && other && sharesAuthority(next, other.current()))
      throw new Error(
        `--${ofClients} and --${ofProxies} share an authority, so --requestheader-allowed-names is needed`,
      );
  };
  const clientFile = fileOf(flags, ofClients);
  if (clientFile)
    followed.clients = await followAuthorities(
      { file: clientFile, use: 'client-ca', check: (next) => requireOther(next, followed.proxies) },
      options,
      cleanup,
    );
  const proxyFile = fileOf(flags, ofProxies);
  if (proxyFile)
    followed.proxies = await followAuthorities(
      { file: proxyFile, use: 'requestheader-client-ca', check: (next) => requireOther(next, followed.clients) },
      options,
      cleanup,
    );
  const headers = {
    user: toHeaderNames(flags['requestheader-username-headers']),
    uid: toHeaderNames(flags['requestheader-uid-headers']),
    group: toHeaderNames(flags['requestheader-group-headers']),
    extraPrefix: toHeaderNames(flags['requestheader-extra-headers-prefix']),
  };
  const { clients, proxies } = followed;
  return [
    ...(proxies ? [createFrontProxyAuthenticator({ authorities: proxies.current, allowedNames, headers, clock })] : []),
    ...(clients
      ? [createClientCertificateAuthenticator(clients.current, clock, createExpirationMeasure(options.metrics))]
      : []),
  ];
}

export interface ClientCertificateOptions
  extends Pick<WiringContext, 'flags' | 'environment' | 'log' | 'metrics' | 'records'> {
  readonly certificates: CertificateMeasures;
}

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

interface AuthoritiesFile {
  readonly file: FlagFile;
  readonly use: 'client-ca' | 'requestheader-client-ca';
  /** Throws for authorities that must not be used. */
  readonly check: (next: Authorities) => void;
}

async function followAuthorities(
  { file, use, check }: AuthoritiesFile,
  { environment, log, certificates, records }: ClientCertificateOptions,
  cleanup: CleanupStack,
): Promise<Followed<Authorities>> {
  const followed = await followFiles(
    {
      name: 'client CA bundle',
      files: [{ ...file, kind: 'certificates' }],
      read: () => readFlagFile(file, environment.files),
      bytesOf: (content) => [content],
      build: (content) => parseAuthorities(file, content, check),
      measures: certificates(use, [use]),
    },
    { environment, log, records },
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

/** The CA bundles that flags name. Throws a FlagError for a file that is none. */
export async function loadAuthorities(
  flag: typeof ofClients | typeof ofProxies,
  flags: ServerFlags,
  files: Files,
): Promise<void> {
  const file = fileOf(flags, flag);
  if (file) parseAuthorities(file, await readFlagFile(file, files));
}
