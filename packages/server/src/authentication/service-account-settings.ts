import type { FlagFile } from '../files/flag-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';

/** Validated settings of service account tokens. */
export interface ServiceAccountSettings {
  /** The first one is the issuer of new tokens. */
  readonly issuers: readonly [string, ...string[]];
  readonly audiences: readonly string[];
  readonly lifetimeSecondsMax: number | undefined;
  readonly signingKey: FlagFile;
  readonly otherKeys: readonly FlagFile[];
  /** Empty to derive it from the issuer. */
  readonly keySetUri: string;
}

const maximumMsMin = 3_600_000;
const maximumMsMax = 2 ** 32 * 1000;

/** Undefined if service account tokens are disabled. Throws a FlagError with all problems. */
export function parseServiceAccountFlags(flags: ServerFlags): ServiceAccountSettings | undefined {
  const faults = findFaults(flags);
  if (faults.length > 0) throw new FlagError(faults);
  const [first, ...others] = flags['service-account-issuer'];
  if (first === undefined) return undefined;
  const maximumMs = flags['service-account-max-token-expiration'];
  return {
    issuers: [first, ...others],
    audiences: getApiAudiences(flags),
    lifetimeSecondsMax: maximumMs === 0 ? undefined : Math.floor(maximumMs / 1000),
    signingKey: { flag: 'service-account-signing-key-file', path: flags['service-account-signing-key-file'] },
    otherKeys: flags['service-account-key-file'].map((path) => ({ flag: 'service-account-key-file', path })),
    keySetUri: flags['service-account-jwks-uri'],
  };
}

/** Audiences of this API: tokens for one of them are accepted. */
export function getApiAudiences(flags: ServerFlags): readonly string[] {
  const named = flags['api-audiences'];
  return named.length > 0 ? named : flags['service-account-issuer'];
}

function findFaults(flags: ServerFlags): readonly string[] {
  const issuers = flags['service-account-issuer'];
  const signs = flags['service-account-signing-key-file'] !== '';
  const maximumMs = flags['service-account-max-token-expiration'];
  const keySetUri = flags['service-account-jwks-uri'];
  const faultWithoutIssuer = (name: string, given: boolean): readonly string[] =>
    given && issuers.length === 0 ? [`--${name} means nothing without --service-account-issuer`] : [];
  return [
    ...(issuers.length > 0 === signs
      ? []
      : ['--service-account-issuer and --service-account-signing-key-file go together']),
    ...faultWithoutIssuer('service-account-key-file', flags['service-account-key-file'].length > 0),
    ...faultWithoutIssuer('service-account-max-token-expiration', maximumMs > 0),
    ...faultWithoutIssuer('service-account-jwks-uri', keySetUri !== ''),
    ...issuers.flatMap((issuer, at) => findIssuerFaults(issuer, issuers.indexOf(issuer) < at)),
    ...(maximumMs === 0 || (maximumMs >= maximumMsMin && maximumMs <= maximumMsMax)
      ? []
      : ['--service-account-max-token-expiration must be from 1h to 2^32 seconds, or 0 for no bound']),
    ...(keySetUri === '' || isHttps(keySetUri)
      ? []
      : [`--service-account-jwks-uri: ${JSON.stringify(keySetUri)} is no https URL`]),
  ];
}

function findIssuerFaults(issuer: string, again: boolean): readonly string[] {
  const shown = `--service-account-issuer: ${JSON.stringify(issuer)}`;
  return [
    ...(again ? [`${shown} stands there twice`] : []),
    ...(issuer.includes(':') && !URL.canParse(issuer) ? [`${shown} has a colon and is no URL`] : []),
  ];
}

const isHttps = (url: string): boolean => URL.parse(url)?.protocol === 'https:';

/** Whether OpenID Connect Discovery can find the keys of the issuer. */
export function isDiscoverable(issuer: string): boolean {
  const url = URL.parse(issuer);
  return url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '';
}
