import { FlagError, durationMs, list, path, text } from '../flag.ts';
import type { ServerFlags } from '../flags.ts';

export const serviceAccountFlags = {
  'service-account-issuer': list({
    fallback: '',
    help: 'Who the tokens of service accounts say that they are of, best an https URL. Of several the first one issues, and all are believed. Without it there are no such tokens.',
  }),
  'service-account-signing-key-file': path({
    fallback: '',
    help: 'The private key, RSA or EC as PEM, that signs the tokens of service accounts. It is read again when the file changes.',
  }),
  'service-account-key-file': list({
    fallback: '',
    help: 'Further keys whose tokens are believed, RSA or EC as PEM, public or private. They are read again when a file changes.',
  }),
  'service-account-max-token-expiration': durationMs({
    fallback: '0s',
    help: 'The longest that a token of a service account lives, at least 1h; who asks for more is given this. 0 for no bound but 2^32 seconds.',
  }),
  'service-account-jwks-uri': text(
    {
      fallback: '',
      help: 'Where /.well-known/openid-configuration says that the keys are. Without it, at /openid/v1/jwks below the issuer.',
    },
    'url',
  ),
  'api-audiences': list({
    fallback: '',
    help: 'Who this API is: a token is for it when it names one of these. Without it, the issuers of service account tokens.',
  }),
};

/** What the flags say of tokens of service accounts, after it was found to make sense. */
export interface ServiceAccountSettings {
  /** The first one issues. */
  readonly issuers: readonly [string, ...string[]];
  readonly audiences: readonly string[];
  readonly lifetimeSecondsMax: number | undefined;
  readonly signingKeyFile: string;
  readonly keyFiles: readonly string[];
  /** Empty when it follows from the issuer. */
  readonly keySetUri: string;
}

const leastMaximumMs = 3_600_000;
const mostMaximumMs = 2 ** 32 * 1000;

/** Undefined when there are to be no such tokens. */
export function serviceAccountSettings(flags: ServerFlags): ServiceAccountSettings | undefined {
  const faults = faultsIn(flags);
  if (faults.length > 0) throw new FlagError(faults);
  const [first, ...others] = flags['service-account-issuer'];
  if (first === undefined) return undefined;
  const maximumMs = flags['service-account-max-token-expiration'];
  return {
    issuers: [first, ...others],
    audiences: apiAudiences(flags),
    lifetimeSecondsMax: maximumMs === 0 ? undefined : Math.floor(maximumMs / 1000),
    signingKeyFile: flags['service-account-signing-key-file'],
    keyFiles: flags['service-account-key-file'],
    keySetUri: flags['service-account-jwks-uri'],
  };
}

/** Who this API is, to those who say whom a token is for. */
export function apiAudiences(flags: ServerFlags): readonly string[] {
  const named = flags['api-audiences'];
  return named.length > 0 ? named : flags['service-account-issuer'];
}

function faultsIn(flags: ServerFlags): readonly string[] {
  const issuers = flags['service-account-issuer'];
  const signs = flags['service-account-signing-key-file'] !== '';
  const maximumMs = flags['service-account-max-token-expiration'];
  const keySetUri = flags['service-account-jwks-uri'];
  const inVain = (name: string, given: boolean): readonly string[] =>
    given && issuers.length === 0 ? [`--${name} means nothing without --service-account-issuer`] : [];
  return [
    ...(issuers.length > 0 === signs
      ? []
      : ['--service-account-issuer and --service-account-signing-key-file go together']),
    ...inVain('service-account-key-file', flags['service-account-key-file'].length > 0),
    ...inVain('service-account-max-token-expiration', maximumMs > 0),
    ...inVain('service-account-jwks-uri', keySetUri !== ''),
    ...issuers.flatMap((issuer, at) => faultsOfIssuer(issuer, issuers.indexOf(issuer) < at)),
    ...(maximumMs === 0 || (maximumMs >= leastMaximumMs && maximumMs <= mostMaximumMs)
      ? []
      : ['--service-account-max-token-expiration must be from 1h to 2^32 seconds, or 0 for no bound']),
    ...(keySetUri === '' || isHttps(keySetUri)
      ? []
      : [`--service-account-jwks-uri: ${JSON.stringify(keySetUri)} is no https URL`]),
  ];
}

function faultsOfIssuer(issuer: string, again: boolean): readonly string[] {
  const shown = `--service-account-issuer: ${JSON.stringify(issuer)}`;
  return [
    ...(again ? [`${shown} stands there twice`] : []),
    ...(issuer.includes(':') && !URL.canParse(issuer) ? [`${shown} has a colon and is no URL`] : []),
  ];
}

const isHttps = (url: string): boolean => URL.parse(url)?.protocol === 'https:';

/** Whether others can find the keys of an issuer by what OpenID Connect says of its URL. */
export function isDiscoverable(issuer: string): boolean {
  const url = URL.parse(issuer);
  return url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '';
}
