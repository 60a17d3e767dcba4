import {
  loadAbacPolicies,
  loadAuditPolicy,
  loadAuthenticationConfiguration,
  loadEncryptionConfiguration,
  loadTracingConfiguration,
  parseFeatureGates,
} from '@cluster-apiserver/config';
import { labelNames } from '@cluster-apiserver/model/validation';
import type { Files } from '../environment.ts';
import { isGiven } from '../flags/flag.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import { parseWebhookServices } from '../admission/admission-webhooks.ts';
import { loadAdmission } from '../admission/admission.ts';
import { compileAllowedOrigins } from '../serving/allowed-origins.ts';
import { compileAlwaysAllowedPaths } from '../authorization/always-allowed-paths.ts';
import { checkAuditFlags } from '../audit/audit.ts';
import { loadAuthenticationFlags } from '../authentication/authentication.ts';
import { readTokenFile } from '../authentication/authenticators.ts';
import { checkAuthorizationFlags, loadAuthorizationFlags } from '../authorization/authorization-settings.ts';
import { loadAuthorizationFile } from '../authorization/authorization.ts';
import { loadAuthorities } from '../authentication/client-certificates.ts';
import { parseControllers } from '../controllers/controllers.ts';
import { fileOf, readFlagFile, withFlagErrors } from '../files/flag-files.ts';
import { readConnection } from '../files/webhook-connection.ts';
import { parseServiceAccountFlags } from '../authentication/service-account-settings.ts';
import { loadKeys } from '../authentication/service-account-keys.ts';
import { loadServingCertificate } from '../serving/serving-certificate.ts';
import { loadEtcdCredentials } from '../storage/etcd-credentials.ts';

type Check = (flags: ServerFlags, files: Files) => unknown;

/** Reads a file as it is read when it is put to use. */
const file =
  (flag: ConfigurationFlag, load: (content: string) => unknown): Check =>
  async (flags, files) => {
    const named = fileOf(flags, flag);
    if (!named) return;
    const content = await readFlagFile(named, files);
    await withFlagErrors(flag, () => load(content.toString()));
  };

type ConfigurationFlag =
  | 'encryption-provider-config'
  | 'authentication-config'
  | 'authorization-config'
  | 'authorization-policy-file'
  | 'audit-policy-file'
  | 'tracing-config-file';

const webhook =
  (flag: 'authentication-token-webhook-config-file' | 'audit-webhook-config-file'): Check =>
  (flags, files) => {
    const named = fileOf(flags, flag);
    return named && readConnection(named, files);
  };

const flagPairs = [
  ['tls-cert-file', 'tls-private-key-file'],
  ['etcd-certfile', 'etcd-keyfile'],
] as const;

/** Throws a FlagError for a certificate without its key, or a key without its certificate. */
function requireFlagPairs(flags: ServerFlags): void {
  const faults = flagPairs
    .filter(([cert, key]) => (flags[cert] === '') !== (flags[key] === ''))
    .map(([cert, key]) => `--${cert} and --${key} go together`);
  if (faults.length > 0) throw new FlagError(faults);
}

const checks: readonly Check[] = [
  requireFlagPairs,
  checkEncryptionFlags,
  (flags) => throwFaults('feature-gates', parseFeatureGates(flags['feature-gates']).faults),
  (flags) => parseControllers(flags.controllers),
  (flags) => compileAllowedOrigins(flags['cors-allowed-origins']),
  compileAlwaysAllowedPaths,
  checkNamespaces,
  parseWebhookServices,
  checkAuditFlags,
  file('encryption-provider-config', loadEncryptionConfiguration),
  loadEtcdCredentials,
  loadServingCertificate,
  (flags, files) => loadAuthorities('client-ca-file', flags, files),
  (flags, files) => loadAuthorities('requestheader-client-ca-file', flags, files),
  readTokenFile,
  webhook('authentication-token-webhook-config-file'),
  checkAuthentication,
  checkServiceAccounts,
  checkAuthorization,
  file('authorization-policy-file', loadAbacPolicies),
  loadAdmission,
  file('audit-policy-file', loadAuditPolicy),
  webhook('audit-webhook-config-file'),
  file('tracing-config-file', loadTracingConfiguration),
];

/**
 * Throws one FlagError with the faults of all flags and of the files that they name, before anything is opened: an
 * operator repairs them together.
 */
export async function checkFlags(flags: ServerFlags, files: Files): Promise<void> {
  const faults = new Set<string>();
  for (const check of checks) {
    try {
      await check(flags, files);
    } catch (error) {
      if (!(error instanceof FlagError)) throw error;
      for (const fault of error.faults) faults.add(fault);
    }
  }
  if (faults.size > 0) throw new FlagError([...faults]);
}

function throwFaults(flag: string, faults: readonly string[]): void {
  if (faults.length > 0) throw new FlagError(faults.map((fault) => `--${flag}: ${fault}`));
}

function checkNamespaces(flags: ServerFlags): void {
  const flag = 'system-namespaces';
  const faults = flags[flag].flatMap((name) =>
    labelNames.whole(name).map((problem) => `${JSON.stringify(name)} is no name of a namespace: ${problem}`),
  );
  throwFaults(flag, faults);
}

/** A variable that a script forgot to set must not store everything in clear. */
function checkEncryptionFlags(flags: ServerFlags): void {
  const flag = 'encryption-provider-config';
  if (flags[flag] !== '') return;
  if (isGiven(flags, flag))
    throwFaults(flag, ['the path is empty; leave out the flag to store everything unencrypted']);
  if (flags[`${flag}-automatic-reload`]) throwFaults(`${flag}-automatic-reload`, [`needs --${flag}`]);
}

async function checkAuthentication(flags: ServerFlags, files: Files): Promise<void> {
  const { flagValues } = await loadAuthenticationFlags(flags, files);
  await file('authentication-config', (content) => loadAuthenticationConfiguration(content, flagValues))(flags, files);
}

async function checkServiceAccounts(flags: ServerFlags, files: Files): Promise<void> {
  const settings = parseServiceAccountFlags(flags);
  if (settings) await loadKeys(settings, files);
}

async function checkAuthorization(flags: ServerFlags, files: Files): Promise<void> {
  checkAuthorizationFlags(flags);
  await (flags['authorization-config'] === ''
    ? loadAuthorizationFlags(flags, files)
    : file('authorization-config', (content) => loadAuthorizationFile(content, flags, files))(flags, files));
}
