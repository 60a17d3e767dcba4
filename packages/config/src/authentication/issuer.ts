import { formatPath } from '@cluster-apiserver/model';
import { holdsCertificates } from '../certificates.ts';
import { type ListSchema, list, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';

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

export function readIssuer(node: ConfigNode<typeof issuerSchema>, context: IssuerContext): Issuer {
  const fields = node.fields();
  const audiences = readAudiences(fields.audiences, fields.audienceMatchPolicy);
  const url = readIssuerUrl(fields.url, context);
  return {
    url,
    discoveryUrl: readDiscoveryUrl(fields.discoveryURL, url, context.discoveryUrls),
    certificateAuthority: readCertificateAuthority(fields.certificateAuthority),
    audiences,
    egressSelector: readEgressSelector(fields.egressSelectorType, context.egressSelectors),
  };
}

function readIssuerUrl(node: ConfigNode, { urls, disallowedIssuers }: IssuerContext): string {
  const url = node.string() ?? '';
  if (url === '') {
    node.addRequired('URL is required');
    return url;
  }
  if (!checkUrl(node, url)) return url;
  if (disallowedIssuers.includes(url))
    node.addInvalid(url, `URL must not overlap with disallowed issuers: [${disallowedIssuers.join(' ')}]`);
  requireUnique(node, url, urls);
  return url;
}

function readDiscoveryUrl(node: ConfigNode, issuerUrl: string, taken: Set<string>): string | undefined {
  const url = node.string();
  if (url === undefined || url === '') return undefined;
  if (!checkUrl(node, url)) return url;
  const plain = (text: string): string => text.replace(/\/$/, '');
  if (plain(url) === plain(issuerUrl)) node.addInvalid(url, 'discoveryURL must be different from URL');
  requireUnique(node, url, taken);
  return url;
}

/** Adds the problems of a URL. Returns false if it contains credentials: later problems must not repeat the URL. */
function checkUrl(node: ConfigNode, text: string): boolean {
  const url = URL.parse(text);
  if (!url) {
    node.addInvalid(text, 'must be a URL such as https://host/path');
    return true;
  }
  const hasCredentials = url.username !== '' || url.password !== '';
  const shown = hasCredentials ? '<omitted>' : text;
  if (url.protocol !== 'https:') node.addInvalid(shown, 'URL scheme must be https');
  if (hasCredentials) node.addInvalid(shown, 'URL must not contain a username or password');
  if (url.search !== '' || text.includes('?')) node.addInvalid(shown, 'URL must not contain a query');
  if (url.hash !== '' || text.includes('#')) node.addInvalid(shown, 'URL must not contain a fragment');
  return !hasCredentials;
}

function requireUnique(node: ConfigNode, value: string, taken: Set<string>): void {
  if (taken.has(value)) node.addProblem(`Duplicate value: ${JSON.stringify(value)}`);
  taken.add(value);
}

function readAudiences(node: ConfigNode<ListSchema>, policy: ConfigNode): readonly string[] {
  const taken = new Set<string>();
  const audiences = node.items().map((item) => {
    const audience = item.string() ?? '';
    if (audience === '') item.addRequired('audience can not be empty');
    else requireUnique(item, audience, taken);
    return audience;
  });
  if (audiences.length === 0) node.addRequired(`at least one ${formatPath(node.path)} is required`);
  const match = policy.string() ?? '';
  if (audiences.length > 1 && match !== 'MatchAny')
    policy.addInvalid(match, 'audienceMatchPolicy must be MatchAny for multiple audiences');
  if (audiences.length <= 1 && match !== 'MatchAny' && match !== '')
    policy.addInvalid(match, 'audienceMatchPolicy must be empty or MatchAny for single audience');
  return audiences;
}

function readCertificateAuthority(node: ConfigNode): string | undefined {
  const pem = node.string();
  if (pem === undefined || pem === '') return undefined;
  if (holdsCertificates(pem)) node.findings.addCertificates(node.path, pem);
  else node.addProblem('Invalid value: "<omitted>": data does not contain any valid certificates in PEM');
  return pem;
}

function readEgressSelector(node: ConfigNode, configured: readonly string[]): EgressSelector | undefined {
  const selector = node.string() ?? '';
  if (selector === '') return undefined;
  if (selector !== 'controlplane' && selector !== 'cluster') {
    node.addInvalid(selector, 'egress selector must be either controlplane or cluster');
    return undefined;
  }
  // An unconfigured selector would silently connect directly, on a network that the operator excluded.
  if (!configured.includes(selector))
    node.addInvalid(selector, 'needs the flag --egress-selector-config-file, with a file that says where it leads');
  return selector;
}
