import { subdomainNames } from '@cluster-apiserver/model/validation';
import { type NamedFile, readWebhook, webhookSchema, type WebhookSettings } from './authorization/webhook.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { declareKind, readConfiguration } from './load.ts';
import { list, object, string } from './schema.ts';
import { readWebhookConnection, type ReadFile, type WebhookConnection } from './webhook-connection.ts';
import type { ConfigNode } from './config-node.ts';

/** The ordered authorizers: the first one with an opinion decides. */
export interface AuthorizationConfiguration {
  readonly authorizers: readonly AuthorizerConfiguration[];
}

export type AuthorizerConfiguration =
  | { readonly type: Exclude<AuthorizerType, 'Webhook'>; readonly name: string }
  | { readonly type: 'Webhook'; readonly name: string; readonly webhook: WebhookConfiguration };

export interface WebhookConfiguration extends WebhookSettings {
  /** Content of the connection file when the configuration is loaded. */
  readonly connection: WebhookConnection;
}

export const authorizerTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'RBAC', 'Webhook'] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

export interface AuthorizationFiles {
  readonly readFile: ReadFile;
  /** Whether --authorization-policy-file is set; ABAC requires it. */
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

/** Throws a ConfigurationError with all problems, including those of referenced connection files. */
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
  // Each undefined one has a problem, which requireNoProblems has thrown.
  return { authorizers: authorizers.filter((one) => one !== undefined) };
}

/** Reads the connection file. Returns undefined and adds a problem if it cannot be used. */
type LoadAuthorizer = () => Promise<AuthorizerConfiguration | undefined>;

interface Taken {
  readonly names: Set<string>;
  readonly types: Set<AuthorizerType>;
}

function readAuthorizers(
  node: ConfigNode<typeof fields.authorizers>,
  files: AuthorizationFiles,
): readonly LoadAuthorizer[] {
  const items = node.items();
  if (items.length === 0) node.addRequired('at least one authorization mode must be defined');
  if (items.length > authorizersMax)
    node.addProblem(`Too many: ${items.length}: must have at most ${authorizersMax} items`);
  const taken: Taken = { names: new Set(), types: new Set() };
  return items.map((item) => readAuthorizer(item, taken, files));
}

function readAuthorizer(
  node: ConfigNode<typeof authorizerSchema>,
  taken: Taken,
  { readFile, policyFileGiven }: AuthorizationFiles,
): LoadAuthorizer {
  const declared = node.fields();
  const type = readType(declared.type, taken.types);
  const name = readName(declared.name, taken.names);
  if (type === 'ABAC' && !policyFileGiven)
    declared.type.addProblem('Forbidden: needs the flag --authorization-policy-file');
  if (type !== 'Webhook') {
    if (type !== undefined && !declared.webhook.isAbsent)
      declared.webhook.addProblem('Invalid value: "non-null": may only be specified when type=Webhook');
    return async () => type && { type, name };
  }
  if (declared.webhook.isAbsent) {
    declared.webhook.addRequired('required when type=Webhook');
    return async () => undefined;
  }
  const { settings, connectionFile } = readWebhook(declared.webhook);
  return async () => {
    const connection = connectionFile && (await readConnection(connectionFile, readFile));
    return settings && connection && { type, name, webhook: { ...settings, connection } };
  };
}

function readType(node: ConfigNode, taken: Set<AuthorizerType>): AuthorizerType | undefined {
  const text = node.string() ?? '';
  const type = authorizerTypes.find((one) => one === text);
  if (text === '') node.addRequired();
  else if (!type) {
    const supported = `supported values: ${authorizerTypes.map((one) => JSON.stringify(one)).join(', ')}`;
    const detail = text === 'Node' ? `there are no nodes here, ${supported}` : supported;
    node.addProblem(`Unsupported value: ${JSON.stringify(text)}: ${detail}`);
  } else if (type !== 'Webhook' && taken.has(type)) node.addProblem(`Duplicate value: ${JSON.stringify(type)}`);
  if (type) taken.add(type);
  return type;
}

function readName(node: ConfigNode, taken: Set<string>): string {
  const name = node.string() ?? '';
  if (name === '') node.addRequired();
  else if (taken.has(name)) node.addProblem(`Duplicate value: ${JSON.stringify(name)}`);
  else
    for (const problem of subdomainNames.whole(name)) node.addInvalid(name, `authorizer name is invalid: ${problem}`);
  taken.add(name);
  return name;
}

async function readConnection({ place, file }: NamedFile, readFile: ReadFile): Promise<WebhookConnection | undefined> {
  try {
    const inner = await readWebhookConnection(file, readFile);
    place.addInvalidFile(file, inner.findings);
    return inner.connection;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    place.addInvalidFile(file, error);
    return undefined;
  }
}
