import { createPrivateKey, createPublicKey } from 'node:crypto';
import { errorMessage, ownKeys, pemBlocks } from '@cluster-apiserver/base';
import type { Clock, Random } from '@cluster-apiserver/base';
import {
  type AdmissionConfiguration,
  ConfigurationError,
  splitCertificates,
  Findings,
  kindOf,
  loadAbacPolicies,
  loadAuditPolicy,
  loadAuthenticationConfiguration,
  loadAuthorizationConfiguration,
  loadEncryptionConfiguration,
  loadTracingConfiguration,
  nameOf,
  type Problem,
  readAdmissionConfiguration,
  readEgressSelectorConfiguration,
  readEgressTls,
  readPluginConfiguration,
  readWebhookConnection,
} from '@cluster-apiserver/config';
import { describeUnknownPlugin } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import { parseYaml } from '@cluster-apiserver/model/codec';
import { isJsonObject } from '@cluster-apiserver/model/json';
import type { ResourceKind } from '@cluster-apiserver/registry';
import type { Files } from '../../environment.ts';
import {
  findPolicyProblems,
  findWebhookProblems,
  readManifestFiles,
  readStaticManifests,
  type ManifestFile,
} from '../../admission/read-static-manifests.ts';

export interface CheckEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
}

export interface CheckedFile {
  readonly file: string;
  /** The kind it was checked as; undefined if the kind is unknown. */
  readonly kind: string | undefined;
  readonly problems: readonly Problem[];
  readonly certificates: Findings['certificates'];
}

interface CheckContext extends CheckEnvironment {
  readonly file: string;
  readonly text: string;
  readonly findings: Findings;
}

/** Validates a file as the server does when it loads it. */
export async function checkFile(file: string, environment: CheckEnvironment): Promise<CheckedFile> {
  let content: Buffer;
  try {
    content = await environment.files.read(file);
  } catch (error) {
    const { problems } = new ConfigurationError([`cannot read it: ${errorMessage(error)}`]);
    return { file, kind: undefined, problems, certificates: [] };
  }
  const text = content.toString();
  const findings = new Findings(text);
  const { kind, check } = chooseCheck(text);
  try {
    await check({ ...environment, file, text, findings });
    findings.requireNoProblems();
    return { file, kind, problems: [], certificates: findings.certificates };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { file, kind, problems: error.problems, certificates: findings.certificates };
  }
}

/** Throws a ConfigurationError, or adds problems to the findings. */
type Check = (checking: CheckContext) => unknown;

/** By the name of the kind. Flags that the file must agree with are assumed to agree. */
const checks: Readonly<Record<string, Check>> = {
  AuthenticationConfiguration: ({ text, findings }) =>
    loadAuthenticationConfiguration(
      text,
      { disallowedIssuers: [], anonymousAuthGiven: false, egressSelectors: ['cluster', 'controlplane'] },
      findings,
    ),
  EgressSelectorConfiguration: async ({ text, findings, files }) => {
    for (const proxy of readEgressSelectorConfiguration(text, findings).values())
      if (proxy && 'url' in proxy && proxy.tls) await readEgressTls(proxy.tls, files.read, findings);
  },
  AuthorizationConfiguration: ({ text, findings, files }) =>
    loadAuthorizationConfiguration(text, { readFile: files.read, policyFileGiven: true }, findings),
  'Policy.abac.authorization.kubernetes.io': ({ text }) => loadAbacPolicies(text),
  'Policy.audit.k8s.io': ({ text, findings }) => loadAuditPolicy(text, findings),
  TracingConfiguration: ({ text, findings }) => loadTracingConfiguration(text, findings),
  AdmissionConfiguration: checkAdmission,
  'Configuration.eventratelimit.admission.k8s.io': ({ text, findings }) =>
    readPluginConfiguration('EventRateLimit', text, findings),
  MutatingAdmissionPolicyConfiguration: (checking) => checkPlugin(['MutatingAdmissionPolicy'], checking),
  ValidatingAdmissionPolicyConfiguration: (checking) => checkPlugin(['ValidatingAdmissionPolicy'], checking),
  // The kind does not reveal which of the two plugins it is for.
  WebhookAdmissionConfiguration: (checking) =>
    checkPlugin(['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'], checking),
  EncryptionConfiguration: ({ text, findings }) => loadEncryptionConfiguration(text, findings),
  Config: async ({ file, files, findings }) => {
    const { certificates } = (await readWebhookConnection(file, files.read)).findings;
    findings.include({ problems: [], certificates }, (sentence) => sentence);
  },
};

function chooseCheck(text: string): { readonly kind: string | undefined; readonly check: Check } {
  if (/^-----BEGIN /m.test(text)) return { kind: 'PEM', check: checkPem };
  if (isEmpty.test(text)) return { kind: undefined, check: ({ findings }) => findings.add([], 'the file is empty') };
  const written = findDocument(text);
  const known = written && kindOf(written['apiVersion'], written['kind']);
  const check = known && checks[nameOf(known)];
  if (known && check) return { kind: nameOf(known), check };
  if (!written || isManifest(written)) return { kind: 'static manifests', check: checkManifests };
  return { kind: undefined, check: checkUnknown };
}

/** Matches a file that contains only comments and document separators. */
const isEmpty = /^(?:[ \t\r]*(?:#.*|---[ \t]*)?(?:\n|$))*$/;
const firstPolicy = /^[ \t]*(\{.*\})[ \t\r]*$/m;
const separator = /^---[ \t]*\r?$/m;

/** The first object of the file, or the first line of an ABAC policy file. */
function findDocument(text: string): Readonly<Record<string, unknown>> | undefined {
  for (const document of text.split(separator)) {
    const object = parseObject(document);
    if (object) return object;
  }
  const line = parseObject(firstPolicy.exec(text)?.[1] ?? '');
  return line?.['kind'] === 'Policy' ? line : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const { value } = parseYaml(text, Number.POSITIVE_INFINITY);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // the check of its kind reports the syntax error
  }
}

const isManifest = ({ apiVersion, kind }: Readonly<Record<string, unknown>>): boolean =>
  String(apiVersion).startsWith('admissionregistration.k8s.io/') || (typeof kind === 'string' && kind.endsWith('List'));

function checkUnknown({ findings, text }: CheckContext): void {
  const { apiVersion, kind } = findDocument(text) ?? {};
  if (typeof kind !== 'string') findings.add(['kind'], 'Required value');
  else
    findings.add(
      ['kind'],
      `${JSON.stringify(kind)} of ${JSON.stringify(apiVersion ?? '')} is no known kind of configuration; see config schema`,
    );
}

async function checkAdmission({ file, files, text, findings, ...machine }: CheckContext): Promise<void> {
  const configuration = await readAdmissionConfiguration(
    text,
    { file, readFile: files.read, problemOfName: describeUnknownPlugin },
    findings,
  );
  for (const plugin of staticPlugins)
    await checkDirectory(configuration[plugin], [plugin], { file, files, text, findings, ...machine });
}

type StaticPlugin = 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy' | WebhookPlugin;
type WebhookPlugin = 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook';

/** Kinds of the static manifests of each plugin. */
const kindsOf: Readonly<Record<StaticPlugin, readonly string[]>> = {
  MutatingAdmissionPolicy: ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
  MutatingAdmissionWebhook: ['MutatingWebhookConfiguration'],
  ValidatingAdmissionPolicy: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  ValidatingAdmissionWebhook: ['ValidatingWebhookConfiguration'],
};
const staticPlugins = ownKeys(kindsOf);

/** Checks the configuration file of one of these plugins. */
function checkPlugin(plugins: readonly [StaticPlugin, ...StaticPlugin[]], checking: CheckContext): Promise<void> {
  const [plugin] = plugins;
  const configuration = readPluginConfiguration(plugin, checking.text, checking.findings);
  return checkDirectory(configuration[plugin], plugins, checking);
}

/** Checks the static manifests of the directory that a plugin configuration names. */
async function checkDirectory(
  configuration: AdmissionConfiguration[StaticPlugin],
  plugins: readonly StaticPlugin[],
  { findings, ...checking }: CheckContext,
): Promise<void> {
  const directory = configuration?.staticManifestsDir;
  if (directory === undefined) return;
  try {
    await checkObjects(await readManifestFiles(directory, checking.files), plugins, checking);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    findings.include(error, (sentence) => sentence);
  }
}

const checkManifests = ({ file, text, ...checking }: CheckContext): Promise<void> =>
  checkObjects([{ file, text }], staticPlugins, checking);

async function checkObjects(
  files: readonly ManifestFile[],
  plugins: readonly StaticPlugin[],
  { clock, random }: Pick<CheckEnvironment, 'clock' | 'random'>,
): Promise<void> {
  const served = kinds({ eventLifetimeSeconds: 0, serviceAccountTokens: undefined });
  const resourceOf = (name: string): ResourceKind[] =>
    served.filter(({ kind }) => kind === name).map((kind) => ({ kind, served: kind, clock, random }));
  const all = plugins.map((plugin) => kindsOf[plugin].flatMap(resourceOf));
  const problems: Problem[] = [];
  const manifests = await readStaticManifests(files, all.flat(), problems);
  for (const [objects, bindings] of all)
    if (objects && bindings) problems.push(...findPolicyProblems(manifests, { policies: objects, bindings }));
    else if (objects) problems.push(...findWebhookProblems(manifests, objects));
  if (problems.length > 0) throw new ConfigurationError(problems);
}

/** Checks a PEM file with certificates and keys. */
function checkPem({ text, findings }: CheckContext): void {
  const blocks = pemBlocks(text);
  if (blocks.length === 0) findings.add([], 'holds no PEM that is complete');
  for (const { text: pem, label, offset } of blocks) {
    const place = { line: text.slice(0, offset).split('\n').length, column: 1 };
    if (!isReadable(label, pem)) findings.addAt(place, [], `the ${label.toLowerCase()} cannot be read`);
  }
  if (splitCertificates(text).length > 0 && findings.problems.length === 0) findings.addCertificates([], text);
}

function isReadable(label: string, pem: string): boolean {
  try {
    if (label.endsWith('PRIVATE KEY')) createPrivateKey(pem);
    else createPublicKey(pem); // also accepts a certificate
    return true;
  } catch {
    return false; // the message of OpenSSL could reveal a part of a key
  }
}
