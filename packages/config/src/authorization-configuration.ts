import { subdomainNames } from '@cluster-apiserver/model';
import { type NamedFile, readWebhook, webhookSchema, type WebhookSettings } from './authorization/webhook.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { declareKind, readConfiguration } from './load.ts';
import { list, object, string } from './schema.ts';
import { readWebhookConnection, type ReadFile, type WebhookConnection } from './webhook-connection.ts';
import type { Written } from './written.ts';

/** Who decides what users may do, in order: the first authorizer with an opinion decides. */
export interface AuthorizationConfiguration {
  readonly authorizers: readonly AuthorizerConfiguration[];
}

export type AuthorizerConfiguration =
  | { readonly type: Exclude<AuthorizerType, 'Webhook'>; readonly name: string }
  | { readonly type: 'Webhook'; readonly name: string; readonly webhook: WebhookConfiguration };

export interface WebhookConfiguration extends WebhookSettings {
  /** What the connection file says when the configuration is loaded. */
  readonly connection: WebhookConnection;
}

export const authorizerTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'RBAC', 'Webhook'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

export interface AuthorizationFiles {
  readonly readFile: ReadFile;
  /** Whether --authorization-policy-file is given, without which ABAC has no policies. */
  readonly policyFileGiven: boolean;
}

/** Each may be evaluated for every request. */
const authorizersMax = 64;

const authorizerSchema = object(
  'One authorizer.',
  {
    type: string('Type of the authorizer. Only `Webhook` may be used several times.', { enum: authorizerTypes }),
    name: string('Name of the authorizer, for metrics and the log: a DNS subdomain.'),
    webhook: webhookSchema,
  },
  { required: ['type', 'name'] },
);

const fields = {
  authorizers: list('Ordered authorizers: the first with an opinion decides.', authorizerSchema, {
    minItems: 1,
    maxItems: authorizersMax,
  }),
};

export const authorizationKind = declareKind({
  kind: 'AuthorizationConfiguration',
  versions: ['v1', 'v1beta1'],
  description: 'Ordered authorizers.',
  fields,
  required: ['authorizers'],
});

/** Throws a ConfigurationError with everything that is wrong, also with the connection files that it names. */
export async function loadAuthorizationConfiguration(
  text: string,
  files: AuthorizationFiles,
  findings = new Findings(text),
): Promise<AuthorizationConfiguration> {
  const configuration = readConfiguration(
    authorizationKind,
    ({ authorizers }) => readAuthorizers(authorizers, files),
    text,
    findings,
  );
  const authorizers = await Promise.all(configuration.map((load) => load()));
  findings.requireNoProblems();
  // Whatever could not be read is a fault.
  return { authorizers: authorizers.filter((one) => one !== undefined) };
}

/** Reads the connection files; undefined, with a fault, if it cannot. */
type LoadAuthorizer = () => Promise<AuthorizerConfiguration | undefined>;

interface Taken {
  readonly names: Set<string>;
  readonly types: Set<AuthorizerType>;
}

function readAuthorizers(
  written: Written<typeof fields.authorizers>,
  files: AuthorizationFiles,
): readonly LoadAuthorizer[] {
  const items = written.items();
  if (items.length === 0) written.required('at least one authorization mode must be defined');
  if (items.length > authorizersMax)
    written.wrong(`Too many: ${items.length}: must have at most ${authorizersMax} items`);
  const taken: Taken = { names: new Set(), types: new Set() };
  return items.map((item) => readAuthorizer(item, taken, files));
}

function readAuthorizer(
  written: Written<typeof authorizerSchema>,
  taken: Taken,
  { readFile, policyFileGiven }: AuthorizationFiles,
): LoadAuthorizer {
  const fields = written.fields();
  const type = readType(fields.type, taken.types);
  const name = readName(fields.name, taken.names);
  if (type === 'ABAC' && !policyFileGiven) fields.type.wrong('Forbidden: needs the flag --authorization-policy-file');
  if (type !== 'Webhook') {
    if (type !== undefined && !fields.webhook.absent)
      fields.webhook.wrong('Invalid value: "non-null": may only be specified when type=Webhook');
    return async () => type && { type, name };
  }
  if (fields.webhook.absent) {
    fields.webhook.required('required when type=Webhook');
    return async () => undefined;
  }
  const { settings, connectionFile } = readWebhook(fields.webhook);
  return async () => {
    const connection = connectionFile && (await readConnection(connectionFile, readFile));
    return settings && connection && { type, name, webhook: { ...settings, connection } };
  };
}

function readType(written: Written, taken: Set<AuthorizerType>): AuthorizerType | undefined {
  const text = written.text() ?? '';
  const type = authorizerTypes.find((one) => one === text);
  if (text === '') written.required();
  else if (!type) {
    const supported = `supported values: ${authorizerTypes.map((one) => JSON.stringify(one)).join(', ')}`;
    const detail = text === 'Node' ? `there are no nodes here, ${supported}` : supported;
    written.wrong(`Unsupported value: ${JSON.stringify(text)}: ${detail}`);
  } else if (type !== 'Webhook' && taken.has(type)) written.wrong(`Duplicate value: ${JSON.stringify(type)}`);
  if (type) taken.add(type);
  return type;
}

function readName(written: Written, taken: Set<string>): string {
  const name = written.text() ?? '';
  if (name === '') written.required();
  else if (taken.has(name)) written.wrong(`Duplicate value: ${JSON.stringify(name)}`);
  else
    for (const problem of subdomainNames.whole(name)) written.invalid(name, `authorizer name is invalid: ${problem}`);
  taken.add(name);
  return name;
}

async function readConnection({ place, file }: NamedFile, readFile: ReadFile): Promise<WebhookConnection | undefined> {
  try {
    const inner = await readWebhookConnection(file, readFile);
    place.invalidFile(file, inner.findings);
    return inner.connection;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    place.invalidFile(file, error);
    return undefined;
  }
}
