import { holdsCertificates } from '../certificates.ts';
import { type ListSchema, list, object, string } from '../schema.ts';
import type { Written } from '../written.ts';

/** Who signs tokens, and how to reach it. */
export interface Issuer {
  readonly url: string;
  readonly discoveryUrl: string | undefined;
  /** Certificates in PEM; without them those of the system are trusted. */
  readonly certificateAuthority: string | undefined;
  /** A token is taken when it is meant for one of them. */
  readonly audiences: readonly string[];
  readonly egressSelector: EgressSelector | undefined;
}

export type EgressSelector = 'controlplane' | 'cluster';

/** What other issuers of the file have taken already, and what the flags say. */
export interface Neighbours {
  readonly urls: Set<string>;
  readonly discoveryUrls: Set<string>;
  /** Issuers whose tokens are authenticated in another way, such as the server's own. */
  readonly disallowedIssuers: readonly string[];
  /** The selectors of which a file says where they lead. */
  readonly egressSelectors: readonly string[];
}

export const issuerSchema = object(
  'Who signs the tokens, and how to reach it.',
  {
    url: string('Issuer of the tokens, an https URL: the claim `iss` must be equal to it.'),
    discoveryURL: string(
      'URL of the discovery document, if it is not the issuer with `/.well-known/openid-configuration`.',
    ),
    certificateAuthority: string(
      'Certificates in PEM that are trusted for the connection. Those of the system are trusted by default.',
    ),
    audiences: list(
      'Accepted audiences: the claim `aud` must hold one of them.',
      string('Audience, such as the client id of the API server at the issuer.'),
      { minItems: 1 },
    ),
    audienceMatchPolicy: string('How several audiences are matched; required if there are several.', {
      enum: ['MatchAny', ''],
    }),
    egressSelectorType: string(
      'Network through which the issuer is reached, one of --egress-selector-config-file. It is reached directly by default.',
      { enum: ['controlplane', 'cluster', ''] },
    ),
  },
  { required: ['url', 'audiences'] },
);

export function readIssuer(written: Written<typeof issuerSchema>, neighbours: Neighbours): Issuer {
  const fields = written.fields();
  const audiences = readAudiences(fields.audiences, fields.audienceMatchPolicy);
  const url = readIssuerUrl(fields.url, neighbours);
  return {
    url,
    discoveryUrl: readDiscoveryUrl(fields.discoveryURL, url, neighbours.discoveryUrls),
    certificateAuthority: readCertificateAuthority(fields.certificateAuthority),
    audiences,
    egressSelector: readEgressSelector(fields.egressSelectorType, neighbours.egressSelectors),
  };
}

function readIssuerUrl(written: Written, { urls, disallowedIssuers }: Neighbours): string {
  const url = written.text() ?? '';
  if (url === '') {
    written.required('URL is required');
    return url;
  }
  if (!checkUrl(written, url)) return url;
  if (disallowedIssuers.includes(url))
    written.invalid(url, `URL must not overlap with disallowed issuers: [${disallowedIssuers.join(' ')}]`);
  unique(written, url, urls);
  return url;
}

function readDiscoveryUrl(written: Written, issuerUrl: string, taken: Set<string>): string | undefined {
  const url = written.text();
  if (url === undefined || url === '') return undefined;
  if (!checkUrl(written, url)) return url;
  const plain = (text: string): string => text.replace(/\/$/, '');
  if (plain(url) === plain(issuerUrl)) written.invalid(url, 'discoveryURL must be different from URL');
  unique(written, url, taken);
  return url;
}

/** Notes all that is wrong with a URL. False if it holds credentials: nothing more is said of it that would show it. */
function checkUrl(written: Written, text: string): boolean {
  const url = URL.parse(text);
  if (!url) {
    written.invalid(text, 'must be a URL such as https://host/path');
    return true;
  }
  const hasCredentials = url.username !== '' || url.password !== '';
  const shown = hasCredentials ? '<omitted>' : text;
  if (url.protocol !== 'https:') written.invalid(shown, 'URL scheme must be https');
  if (hasCredentials) written.invalid(shown, 'URL must not contain a username or password');
  if (url.search !== '' || text.includes('?')) written.invalid(shown, 'URL must not contain a query');
  if (url.hash !== '' || text.includes('#')) written.invalid(shown, 'URL must not contain a fragment');
  return !hasCredentials;
}

function unique(written: Written, value: string, taken: Set<string>): void {
  if (taken.has(value)) written.wrong(`Duplicate value: ${JSON.stringify(value)}`);
  taken.add(value);
}

function readAudiences(written: Written<ListSchema>, policy: Written): readonly string[] {
  const taken = new Set<string>();
  const audiences = written.items().map((item) => {
    const audience = item.text() ?? '';
    if (audience === '') item.required('audience can not be empty');
    else unique(item, audience, taken);
    return audience;
  });
  if (audiences.length === 0) written.required(`at least one ${written.path} is required`);
  const match = policy.text() ?? '';
  if (audiences.length > 1 && match !== 'MatchAny')
    policy.invalid(match, 'audienceMatchPolicy must be MatchAny for multiple audiences');
  if (audiences.length <= 1 && match !== 'MatchAny' && match !== '')
    policy.invalid(match, 'audienceMatchPolicy must be empty or MatchAny for single audience');
  return audiences;
}

function readCertificateAuthority(written: Written): string | undefined {
  const pem = written.text();
  if (pem === undefined || pem === '') return undefined;
  if (holdsCertificates(pem)) written.findings.addCertificates(written.path, pem);
  else written.wrong('Invalid value: "<omitted>": data does not contain any valid certificates in PEM');
  return pem;
}

function readEgressSelector(written: Written, configured: readonly string[]): EgressSelector | undefined {
  const selector = written.text() ?? '';
  if (selector === '') return undefined;
  if (selector !== 'controlplane' && selector !== 'cluster') {
    written.invalid(selector, 'egress selector must be either controlplane or cluster');
    return undefined;
  }
  // Without a way of its own the traffic would go where the operator did not want it.
  if (!configured.includes(selector))
    written.invalid(selector, 'needs the flag --egress-selector-config-file, with a file that says where it leads');
  return selector;
}
