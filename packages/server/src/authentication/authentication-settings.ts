import { fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { authenticationFlags } from './authentication-flags.ts';
import type { oidcFlags } from './oidc-flags.ts';
import { oidcSettingsOf } from './oidc-settings.ts';
import type { serviceAccountFlags } from './service-account-flags.ts';
import { serviceAccountSettingsOf } from './service-account-settings.ts';

type Values = FlagValues<typeof authenticationFlags & typeof oidcFlags & typeof serviceAccountFlags>;

export type AuthenticationSettings = ReturnType<typeof authenticationSettingsOf>;

export function authenticationSettingsOf(values: Values, problems: string[]) {
  const webhookFile = fileOf(values, 'authentication-token-webhook-config-file');
  const issuers = values['service-account-issuer'];
  const serviceAccounts = serviceAccountSettingsOf(values, problems);
  const audiences = values['api-audiences'];
  const file = fileOf(values, 'authentication-config');
  return {
    clientCaFile: fileOf(values, 'client-ca-file'),
    frontProxies: {
      caFile: fileOf(values, 'requestheader-client-ca-file'),
      /** Common names of certificates; empty allows all. */
      allowedNames: values['requestheader-allowed-names'],
      headers: {
        user: toHeaderNames(values['requestheader-username-headers']),
        uid: toHeaderNames(values['requestheader-uid-headers']),
        group: toHeaderNames(values['requestheader-group-headers']),
        extraPrefix: toHeaderNames(values['requestheader-extra-headers-prefix']),
      },
    },
    tokenFile: fileOf(values, 'token-auth-file'),
    tokenWebhook: webhookFile && {
      file: webhookFile,
      version: values['authentication-token-webhook-version'],
      /** 0 disables the cache. */
      cacheTtlMs: values['authentication-token-webhook-cache-ttl'],
    },
    /** The AuthenticationConfiguration. */
    file,
    /** Undefined if the flag is not set. */
    anonymousAuth: values['anonymous-auth'] === 'unset' ? undefined : values['anonymous-auth'],
    egressFile: fileOf(values, 'egress-selector-config-file'),
    oidc: oidcSettingsOf(values, file, problems),
    /** Undefined if service account tokens are disabled. */
    serviceAccounts,
    serviceAccountIssuers: issuers,
    /** Audiences of this API: tokens for one of them are accepted. */
    apiAudiences: audiences.length > 0 ? audiences : issuers,
  };
}

const toHeaderNames = (headers: readonly string[]): readonly string[] => headers.map((header) => header.toLowerCase());
