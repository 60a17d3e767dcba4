import { fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { serviceAccountFlags } from './service-account-flags.ts';

export type ServiceAccountSettings = NonNullable<ReturnType<typeof serviceAccountSettingsOf>>;

const maximumMsMin = 3_600_000;
const maximumMsMax = 2 ** 32 * 1000;

type Values = FlagValues<typeof serviceAccountFlags>;

/** Undefined if service account tokens are disabled. */
export function serviceAccountSettingsOf(values: Values, problems: string[]) {
  problems.push(...findFaults(values));
  const [first, ...others] = values['service-account-issuer'];
  const signingKey = fileOf(values, 'service-account-signing-key-file');
  if (first === undefined || !signingKey) return undefined;
  const maximumMs = values['service-account-max-token-expiration'];
  const audiences = values['api-audiences'];
  return {
    /** The first one is the issuer of new tokens. */
    issuers: [first, ...others] as const,
    audiences: audiences.length > 0 ? audiences : [first, ...others],
    lifetimeSecondsMax: maximumMs === 0 ? undefined : Math.floor(maximumMs / 1000),
    signingKey,
    otherKeys: values['service-account-key-file'].map((path) => ({ flag: 'service-account-key-file', path })),
    /** Empty to derive it from the issuer. */
    keySetUri: values['service-account-jwks-uri'],
  };
}

function findFaults(values: Values): readonly string[] {
  const issuers = values['service-account-issuer'];
  const signs = values['service-account-signing-key-file'] !== '';
  const maximumMs = values['service-account-max-token-expiration'];
  const keySetUri = values['service-account-jwks-uri'];
  const faultWithoutIssuer = (name: string, given: boolean): readonly string[] =>
    given && issuers.length === 0 ? [`--${name} means nothing without --service-account-issuer`] : [];
  return [
    ...(issuers.length > 0 === signs
      ? []
      : ['--service-account-issuer and --service-account-signing-key-file go together']),
    ...faultWithoutIssuer('service-account-key-file', values['service-account-key-file'].length > 0),
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
