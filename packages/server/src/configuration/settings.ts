import { type FeatureGates, loadEncryptionConfiguration, parseFeatureGates } from '@cluster-apiserver/config';
import { loadAdmission } from '../admission/admission-plugins.ts';
import { admissionSettingsOf } from '../admission/admission-settings.ts';
import { auditFileChecks } from '../audit/audit.ts';
import { auditSettingsOf } from '../audit/audit-settings.ts';
import { authenticationFileChecks } from '../authentication/authenticators.ts';
import { authenticationSettingsOf } from '../authentication/authentication-settings.ts';
import { authorizationFileChecks } from '../authorization/authorizers.ts';
import { authorizationSettingsOf } from '../authorization/authorization-settings.ts';
import { loadClientSigner } from '../controllers/client-signer.ts';
import { controllerSettingsOf } from '../controllers/controller-settings.ts';
import { loadRootCertificates } from '../controllers/root-certificates.ts';
import type { Files } from '../environment.ts';
import { loadFlagFile, withAllFaults } from '../files/flag-files.ts';
import { createFlagReader } from '../files/startup-files.ts';
import { FlagError, type FlagValues } from '../flags/flag.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { featureFlags } from './feature-flags.ts';
import { loadTracing, tracingSettingsOf } from '../observability/tracing.ts';
import { loadServingCertificate } from '../serving/serving-certificate.ts';
import { servingSettingsOf } from '../serving/serving-settings.ts';
import { loadEtcdCredentials } from '../storage/etcd-credentials.ts';
import { storageSettingsOf } from '../storage/storage-settings.ts';

/** The settings of all parts of the server. Only the functions that make them read flags. */
export type Settings = ReturnType<typeof settingsOf>;

const settingsOf = (flags: ServerFlags, problems: string[]) => ({
  storage: storageSettingsOf(flags, problems),
  serving: servingSettingsOf(flags, problems),
  authentication: authenticationSettingsOf(flags, problems),
  authorization: authorizationSettingsOf(flags, problems),
  admission: admissionSettingsOf(flags, problems),
  audit: auditSettingsOf(flags, problems),
  controllers: controllerSettingsOf(flags, problems),
  tracingFile: tracingSettingsOf(flags),
  gates: featureGatesOf(flags, problems),
});

/**
 * The settings of the flags. Throws one FlagError with the faults of all flags and of the files that they name, before
 * anything is opened: an operator repairs them together.
 */
export async function loadSettings(flags: ServerFlags, files: Files): Promise<Settings> {
  const problems: string[] = [];
  const settings = settingsOf(flags, problems);
  await withAllFaults(checkFiles(settings, files)).catch((error: unknown) => {
    if (!(error instanceof FlagError)) throw error;
    problems.push(...error.faults);
  });
  if (problems.length > 0) throw new FlagError([...new Set(problems)]);
  return settings;
}

/** Loads each file as it is loaded when it is put to use. */
function checkFiles(settings: Settings, files: Files): readonly Promise<unknown>[] {
  const { storage, serving, authentication, authorization, admission, audit, controllers, tracingFile } = settings;
  const reader = createFlagReader(files);
  return [
    loadFlagFile(storage.encryption?.file, files, loadEncryptionConfiguration),
    loadEtcdCredentials(storage, files),
    loadServingCertificate(serving, files),
    ...authenticationFileChecks(authentication, reader),
    ...authorizationFileChecks(authorization, files),
    loadAdmission(admission, reader),
    ...auditFileChecks(audit, files),
    loadRootCertificates(controllers.rootCaFile, reader),
    loadClientSigner(controllers, files),
    loadTracing(tracingFile, reader),
  ];
}

function featureGatesOf(values: FlagValues<typeof featureFlags>, problems: string[]): FeatureGates {
  const { gates, faults } = parseFeatureGates(values['feature-gates']);
  problems.push(...faults.map((fault) => `--feature-gates: ${fault}`));
  return gates;
}
