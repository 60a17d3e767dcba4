import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { bytes, field, int32, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { publicationOfPart } from './admission-registration.ts';

/** Each group publishes it under its own names. */
export const clientConfigOf = (publication: typeof publicationOfPart) =>
  object(
    {
      url: field(3, string, 'HTTPS URL of the webhook. Either this or service is set.', 'given'),
      service: field(
        1,
        object(
          {
            namespace: field(1, string, 'Namespace of the service.', 'always'),
            name: field(2, string, 'Name of the service.', 'always'),
            path: field(3, string, 'URL path of the requests.', 'given'),
            port: field(4, int32, 'Port of the service. Defaults to 443.', 'given'),
          },
          {
            publication: publication('ServiceReference', 'A service that webhook requests are sent to.', [
              'namespace',
              'name',
            ]),
          },
        ),
        'Service of the webhook. Either this or url is set.',
        'given',
      ),
      caBundle: field(
        2,
        bytes,
        'CA bundle in PEM to verify the certificate of the webhook with. Defaults to the CAs of the system.',
      ),
    },
    { publication: publication('WebhookClientConfig', 'Address of a webhook, and the certificates to trust.') },
  );

export const clientConfig = clientConfigOf(publicationOfPart);

/** Where a webhook is. */
export type WebhookClientConfig = ValueOf<typeof clientConfig>;
type ServiceReference = NonNullable<WebhookClientConfig['service']>;

const defaultServicePort = 443;

/** Fills in defaults. */
export const withServicePort = (config: WebhookClientConfig): WebhookClientConfig =>
  config.service
    ? { ...config, service: { ...config.service, port: config.service.port ?? defaultServicePort } }
    : config;

export function* validateClientConfig({ url, service }: WebhookClientConfig, problems: Problems): SyncTask<void> {
  if ((url === undefined) === (service === undefined)) problems.required('exactly one of url or service is required');
  else if (url !== undefined) validateUrl(url, problems.at('url'));
  else if (service) yield* validateService(service, problems.at('service'));
}

/** Scheme, authority, path, query and fragment, as RFC 3986 splits any text. */
const urlParts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s;

function validateUrl(url: string, problems: Problems): void {
  const form = '; desired format: https://host[/path]';
  const [, scheme = '', authority = '', query = '', fragment = ''] = urlParts.exec(url) ?? [];
  if (scheme === 'https' && authority !== '' && !URL.canParse(url))
    return void problems.required(`url must be a valid URL${form}`);
  const [host = '', user] = authority.split('@').toReversed();
  if (scheme !== 'https') problems.invalid(scheme, `'https' is the only allowed URL scheme${form}`);
  if (host === '') problems.invalid(host, `host must be specified${form}`);
  if (user !== undefined) problems.invalid(user, 'user information is not permitted in the URL');
  if (fragment !== '') problems.invalid(fragment, 'fragments are not permitted in the URL');
  if (query !== '') problems.invalid(query, 'query parameters are not permitted in the URL');
}

const portMax = 65_535;

/** Segments of a path that are validated in a step. */
const segmentsPerStep = 1_000;

function* validateService(
  { namespace, name, path = '', port = 0 }: ServiceReference,
  problems: Problems,
): SyncTask<void> {
  if (name === '') problems.at('name').required();
  if (namespace === '') problems.at('namespace').required();
  if (port < 1 || port > portMax)
    problems.at('port').invalid(port, `port is not valid: must be between 1 and ${portMax}, inclusive`);
  if (path === '' || path === '/') return;
  const at = problems.at('path');
  if (!path.startsWith('/')) at.invalid(path, "must start with a '/'");
  // Each ends with a slash. Splitting a path of megabytes would block the event loop.
  const segments = path.endsWith('/') ? path.slice(1) : `${path.slice(1)}/`;
  for (let [index, from, to] = [0, 0, 0]; from < segments.length; index++, from = to + 1) {
    to = segments.indexOf('/', from);
    const segment = segments.slice(from, to);
    if (segment === '') at.invalid(path, `segment[${index}] may not be empty`);
    else for (const detail of subdomainNames.whole(segment)) at.invalid(path, `segment[${index}]: ${detail}`);
    if (index % segmentsPerStep === 0) yield;
  }
}
