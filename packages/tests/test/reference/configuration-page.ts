import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ConfigurationKind,
  configurationKinds,
  type JsonSchema,
  nameOf,
  printSchema,
} from '@cluster-apiserver/config';
import { code, generated, table } from './markdown.ts';

export const examples = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'examples', 'configuration');

/** For each kind, the flags and files that refer to it, and its example. */
const uses: Readonly<Record<string, { readonly namedBy: string; readonly example: string }>> = {
  AuthenticationConfiguration: { namedBy: '`--authentication-config`', example: 'authentication.yaml' },
  EgressSelectorConfiguration: { namedBy: '`--egress-selector-config-file`', example: 'egress-selector.yaml' },
  AuthorizationConfiguration: { namedBy: '`--authorization-config`', example: 'authorization.yaml' },
  'Policy.abac.authorization.kubernetes.io': {
    namedBy: '`--authorization-policy-file`',
    example: 'abac-policies.jsonl',
  },
  AdmissionConfiguration: { namedBy: '`--admission-control-config-file`', example: 'admission.yaml' },
  'Configuration.eventratelimit.admission.k8s.io': {
    namedBy: 'AdmissionConfiguration, plugin `EventRateLimit`',
    example: 'event-rate-limit.yaml',
  },
  MutatingAdmissionPolicyConfiguration: {
    namedBy: 'AdmissionConfiguration, plugin `MutatingAdmissionPolicy`',
    example: 'mutating-policies.yaml',
  },
  ValidatingAdmissionPolicyConfiguration: {
    namedBy: 'AdmissionConfiguration, plugin `ValidatingAdmissionPolicy`',
    example: 'validating-policies.yaml',
  },
  WebhookAdmissionConfiguration: {
    namedBy: 'AdmissionConfiguration, plugins `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`',
    example: 'webhooks.yaml',
  },
  EncryptionConfiguration: { namedBy: '`--encryption-provider-config`', example: 'encryption.yaml' },
  'Policy.audit.k8s.io': { namedBy: '`--audit-policy-file`', example: 'audit-policy.yaml' },
  TracingConfiguration: { namedBy: '`--tracing-config-file`', example: 'tracing.yaml' },
  Config: {
    namedBy:
      '`--authorization-webhook-config-file`, `--authentication-token-webhook-config-file`, AuthorizationConfiguration; also `config show --kubeconfig`',
    example: 'webhook.kubeconfig',
  },
};

/** Generates docs/configuration.md from the declared kinds and their examples. */
export const configurationPage = (): string => `# Configuration files

${generated('packages/tests/test/reference/configuration-page.ts')}

Files are YAML or JSON and are parsed strictly: an unknown field, a value of the wrong type or a duplicate key is an error. \`cluster-apiserver config check FILE…\` finds all errors without a server, and warns about certificates that expire soon. \`cluster-apiserver config schema KIND\` prints the JSON Schema of a kind for editors and other tools. \`cluster-apiserver config show\` prints the effective configuration of a running server, and which files are read only at startup (\`restartRequired\`).

The examples are in [examples/configuration](examples/configuration); copy them to \`/etc/cluster-apiserver\` to try them. You supply the certificates and keys that they name: those of a proxy (\`proxy-ca.crt\`, \`proxy.crt\`, \`proxy.key\`) and of a webhook (\`webhook-ca.crt\`, \`webhook.crt\`, \`webhook.key\`).

${configurationKinds.map(sectionOf).join('\n')}`;

function sectionOf(kind: ConfigurationKind): string {
  const { namedBy, example } = uses[nameOf(kind)] ?? { namedBy: '', example: '' };
  return `## ${nameOf(kind)}

${kind.description}

- Named by: ${namedBy}
- \`apiVersion\`: ${kind.apiVersions.map(code).join(', ')}

${table(['field', 'type', 'default', 'meaning'], fieldsOf(printSchema(kind.schema), ''))}

\`\`\`${example.endsWith('.jsonl') ? 'json' : 'yaml'}
${readFileSync(join(examples, example), 'utf8')}\`\`\`
`;
}

/** All fields of a schema by path. */
function fieldsOf(schema: JsonSchema, path: string): readonly (readonly string[])[] {
  if (schema.items) return fieldsOf(schema.items, `${path}[]`);
  const isNew = (name: string): boolean => path !== '' || !['apiVersion', 'kind'].includes(name);
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => isNew(name))
    .flatMap(([name, field]) => {
      const at = path === '' ? name : `${path}.${name}`;
      const isRequired = schema.required?.includes(name) === true;
      return [
        [code(at), typeOf(field) + (isRequired ? ', required' : ''), defaultOf(field), meaningOf(field)],
        ...fieldsOf(field, at),
      ];
    });
}

function typeOf(schema: JsonSchema): string {
  if (schema.items) return `list of ${typeOf(schema.items)}s`;
  return schema.pattern === undefined ? (schema.type ?? 'any') : 'duration';
}

const defaultOf = (schema: JsonSchema): string => (schema.default === undefined ? '' : code(String(schema.default)));

function meaningOf(schema: JsonSchema): string {
  const values = (schema.enum ?? []).map(String).filter((value) => value !== '');
  const oneOf = values.length > 0 ? ` One of ${values.map(code).join(', ')}.` : '';
  return `${schema.description ?? ''}${oneOf}`;
}

/** The examples that are complete configuration files, without those in directories. */
export const exampleFiles = (): readonly string[] =>
  readdirSync(examples, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
