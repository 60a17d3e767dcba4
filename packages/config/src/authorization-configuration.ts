import type { Path, Problems } from '@cluster-apiserver/model';
import { object, type ValueOf } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { fileFields, readWebhook, webhookSchema, type WebhookSettings } from './authorization/webhook.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { defineConfigurationKind, readConfiguration } from './load.ts';
import { checkedString, list, oneOf, optional, required } from './schema.ts';
import { readWebhookConnection, type ReadFile, type WebhookConnection } from './webhook-connection.ts';

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

const authorizerName = checkedString((name, at) => {
  for (const problem of subdomainNames.whole(name)) at.invalid(name, `authorizer name is invalid: ${problem}`);
});
const authorizerSchema = object({
  type: required(
    oneOf(authorizerTypes, { Node: 'there are no nodes here' }),
    'Type of the authorizer. Only `Webhook` may be used several times.',
  ),
  name: required(authorizerName, 'Name of the authorizer, for metrics and the log: a DNS subdomain.'),
  webhook: optional(webhookSchema, 'Settings of an authorizer of type `Webhook`.'),
});

export const authorizationKind = defineConfigurationKind({
  kind: 'AuthorizationConfiguration',
  versions: ['v1', 'v1beta1'],
  description: 'Ordered authorizers.',
  fields: {
    authorizers: required(
      list(authorizerSchema, authorizersMax),
      'Ordered authorizers: the first with an opinion decides.',
      'Required value: at least one authorization mode must be defined',
    ),
  },
});

/** Throws a ConfigurationError with all problems, including those of referenced connection files. */
export async function loadAuthorizationConfiguration(
  file: string,
  { readFile, policyFileGiven }: AuthorizationFiles,
  findings = new Findings(file),
): Promise<AuthorizationConfiguration> {
  const read = readConfiguration(
    authorizationKind,
    ({ authorizers }, at) => readAuthorizers(authorizers, at.at('authorizers'), policyFileGiven, findings),
    file,
    findings,
  );
  const authorizers = await Promise.all(
    read.map(async (authorizer): Promise<AuthorizerConfiguration | undefined> => {
      if (authorizer.type !== 'Webhook') return authorizer;
      const { fileField, webhook, ...named } = authorizer;
      const connection = await readConnection(webhook.connectionFile, fileField, readFile, findings);
      return connection && { ...named, webhook: { ...webhook, connection } };
    }),
  );
  findings.requireNoProblems();
  // Each undefined one has a problem, which requireNoProblems has thrown.
  return { authorizers: authorizers.filter((one) => one !== undefined) };
}

type ReadAuthorizer =
  | Exclude<AuthorizerConfiguration, { type: 'Webhook' }>
  | {
      readonly type: 'Webhook';
      readonly name: string;
      readonly webhook: WebhookSettings;
      /** Where the connection file is named. */
      readonly fileField: Path;
    };

function readAuthorizers(
  authorizers: readonly ValueOf<typeof authorizerSchema>[],
  at: Problems,
  policyFileGiven: boolean,
  findings: Findings,
): readonly ReadAuthorizer[] {
  const taken = { names: new Set<string>(), types: new Set<AuthorizerType>() };
  return authorizers.flatMap(({ type, name, webhook }, index): readonly ReadAuthorizer[] => {
    const place = at.at(index);
    if (type !== 'Webhook' && taken.types.has(type)) place.at('type').duplicate(type);
    if (type === 'ABAC' && !policyFileGiven) place.at('type').forbidden('needs the flag --authorization-policy-file');
    if (taken.names.has(name)) place.at('name').duplicate(name);
    taken.names.add(name);
    if (!findings.isRefused(place.at('type').path)) taken.types.add(type);
    if (type === 'Webhook') {
      const settings = place.at('webhook');
      if (!webhook) {
        settings.required('required when type=Webhook');
        return [];
      }
      const fileField = settings.at('connectionInfo', fileFields[webhook.connectionInfo.type]).path;
      return [{ type, name, webhook: readWebhook(webhook, settings), fileField }];
    }
    if (webhook) place.at('webhook').invalid('non-null', 'may only be specified when type=Webhook');
    return [{ type, name }];
  });
}

async function readConnection(
  file: string,
  field: Path,
  readFile: ReadFile,
  findings: Findings,
): Promise<WebhookConnection | undefined> {
  if (findings.isRefused(field)) return undefined;
  try {
    const inner = await readWebhookConnection(file, readFile);
    findings.includeFile(field, file, inner.findings);
    return inner.connection;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    findings.includeFile(field, file, error);
    return undefined;
  }
}
