import type { Problems } from '@cluster-apiserver/model';
import { object, type ValueOf } from '@cluster-apiserver/model/schema';
import { holdsCertificates } from '../certificates.ts';
import type { Findings } from '../findings.ts';
import { checkedString, list, oneOf, optional, required } from '../schema.ts';

/** A token issuer, and how to reach it. */
export interface Issuer {
  readonly url: string;
  readonly discoveryUrl: string | undefined;
  /** CA bundle in PEM; the CAs of the system if undefined. */
  readonly certificateAuthority: string | undefined;
  /** A token must be for at least one of them. */
  readonly audiences: readonly string[];
  readonly egressSelector: EgressSelector | undefined;
}

export type EgressSelector = 'controlplane' | 'cluster';

/** What validating one issuer needs to know of the other issuers of the file, and of the flags. */
export interface IssuerContext {
  readonly urls: Set<string>;
  readonly discoveryUrls: Set<string>;
  /** Issuers whose tokens are authenticated in another way, such as the server's own. */
  readonly disallowedIssuers: readonly string[];
  /** Selectors that --egress-selector-config-file configures. */
  readonly egressSelectors: readonly string[];
  readonly findings: Findings;
}

const httpsUrl = checkedString((value, at) => {
  if (value === '') return;
  const url = URL.parse(value);
  if (!url) {
    at.invalid(value, 'must be a URL such as https://host/path');
    return;
  }
  const hasCredentials = url.username !== '' || url.password !== '';
  const shown = hasCredentials ? '<omitted>' : value;
  if (url.protocol !== 'https:') at.invalid(shown, 'URL scheme must be https');
  if (hasCredentials) at.invalid(shown, 'URL must not contain a username or password');
  if (url.search !== '' || value.includes('?')) at.invalid(shown, 'URL must not contain a query');
  if (url.hash !== '' || value.includes('#')) at.invalid(shown, 'URL must not contain a fragment');
});
const certificates = checkedString((value, at) => {
  if (value !== '' && !holdsCertificates(value))
    at.invalid('<omitted>', 'data does not contain any valid certificates in PEM');
});
const audience = checkedString((value, at) => {
  if (value === '') at.required('audience can not be empty');
});

export const issuerSchema = object({
  url: required(
    httpsUrl,
    'Issuer of the tokens, an https URL: the claim `iss` must be equal to it.',
    'Required value: URL is required',
  ),
  discoveryURL: optional(
    httpsUrl,
    'URL of the discovery document, if it is not the issuer with `/.well-known/openid-configuration`.',
  ),
  certificateAuthority: optional(
    certificates,
    'Certificates in PEM that are trusted for the connection. Those of the system are trusted by default.',
  ),
  audiences: required(
    list(audience),
    'Accepted audiences: the claim `aud` must hold one of them.',
    'Required value: at least one audience is required',
  ),
  audienceMatchPolicy: optional(
    oneOf(['MatchAny', '']),
    'Rule by which several audiences match; required if there are several.',
  ),
  egressSelectorType: optional(
    oneOf(['controlplane', 'cluster', '']),
    'Network through which the issuer is reached, one of --egress-selector-config-file. It is reached directly by default.',
  ),
});

export function readIssuer(
  {
    url,
    discoveryURL,
    certificateAuthority,
    audiences,
    audienceMatchPolicy,
    egressSelectorType,
  }: ValueOf<typeof issuerSchema>,
  at: Problems,
  { urls, discoveryUrls, disallowedIssuers, egressSelectors, findings }: IssuerContext,
): Issuer {
  const taken = new Set<string>();
  at.at('audiences').each(audiences, (one, place) => requireUnique(one, place, taken));
  if (audiences.length > 1 && audienceMatchPolicy !== 'MatchAny')
    at.at('audienceMatchPolicy').invalid(
      audienceMatchPolicy ?? '',
      'audienceMatchPolicy must be MatchAny for multiple audiences',
    );
  if (disallowedIssuers.includes(url))
    at.at('url').invalid(url, `URL must not overlap with disallowed issuers: [${disallowedIssuers.join(' ')}]`);
  requireUnique(url, at.at('url'), urls);
  const plain = (address: string): string => address.replace(/\/$/, '');
  if (discoveryURL) {
    if (plain(discoveryURL) === plain(url))
      at.at('discoveryURL').invalid(discoveryURL, 'discoveryURL must be different from URL');
    requireUnique(discoveryURL, at.at('discoveryURL'), discoveryUrls);
  }
  if (certificateAuthority) findings.addCertificates(at.at('certificateAuthority').path, certificateAuthority);
  // An unconfigured selector would silently connect directly, on a network that the operator excluded.
  if (egressSelectorType && !egressSelectors.includes(egressSelectorType))
    at.at('egressSelectorType').invalid(
      egressSelectorType,
      'needs the flag --egress-selector-config-file, with a file that says where it leads',
    );
  return {
    url,
    discoveryUrl: discoveryURL || undefined,
    certificateAuthority: certificateAuthority || undefined,
    audiences,
    egressSelector: egressSelectorType || undefined,
  };
}

/** An empty value is reported elsewhere. */
export function requireUnique(value: string, at: Problems, taken: Set<string>): void {
  if (value !== '' && taken.has(value)) at.duplicate(value);
  taken.add(value);
}
