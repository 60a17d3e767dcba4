import { type FlagFile, fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { authenticationFlags } from './authentication-flags.ts';
import type { oidcFlags } from './oidc-flags.ts';
import { type OidcSettings, oidcSettingsOf } from './oidc-settings.ts';
import type { serviceAccountFlags } from './service-account-flags.ts';
import { type ServiceAccountSettings, serviceAccountSettingsOf } from './service-account-settings.ts';

type Values = FlagValues<typeof authenticationFlags & typeof oidcFlags & typeof serviceAccountFlags>;

export interface AuthenticationSettings {
  readonly clientCaFile: FlagFile | undefined;
  readonly frontProxies: FrontProxySettings;
  readonly tokenFile: FlagFile | undefined;
  readonly tokenWebhook: TokenWebhookSettings | undefined;
  /** The AuthenticationConfiguration. */
  readonly file: FlagFile | undefined;
  /** Undefined if the flag is not set. */
  readonly anonymousAuth: boolean | undefined;
  readonly egressFile: FlagFile | undefined;
  readonly oidc: OidcSettings | undefined;
  /** Undefined if service account tokens are disabled. */
  readonly serviceAccounts: ServiceAccountSettings | undefined;
  /** Of service account tokens. */
  readonly serviceAccountIssuers: readonly string[];
  /** Audiences of this API: tokens for one of them are accepted. */
  readonly apiAudiences: readonly string[];
}

export interface FrontProxySettings {
  readonly caFile: FlagFile | undefined;
  /** Common names of certificates; empty allows all. */
  readonly allowedNames: readonly string[];
  /** Names of headers in lower case. */
  readonly headers: Readonly<Record<'user' | 'uid' | 'group' | 'extraPrefix', readonly string[]>>;
}

export interface TokenWebhookSettings {
  readonly file: FlagFile;
  readonly version: 'v1beta1' | 'v1';
  /** 0 disables the cache. */
  readonly cacheTtlMs: number;
}

export function authenticationSettingsOf(values: Values, problems: string[]): AuthenticationSettings {
  const webhookFile = fileOf(values, 'authentication-token-webhook-config-file');
  const issuers = values['service-account-issuer'];
  const serviceAccounts = serviceAccountSettingsOf(values, problems);
  const audiences = values['api-audiences'];
  const file = fileOf(values, 'authentication-config');
  return {
    clientCaFile: fileOf(values, 'client-ca-file'),
    frontProxies: {
      caFile: fileOf(values, 'requestheader-client-ca-file'),
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
      cacheTtlMs: values['authentication-token-webhook-cache-ttl'],
    },
    file,
    anonymousAuth: values['anonymous-auth'] === 'unset' ? undefined : values['anonymous-auth'],
    egressFile: fileOf(values, 'egress-selector-config-file'),
    oidc: oidcSettingsOf(values, file, problems),
    serviceAccounts,
    serviceAccountIssuers: issuers,
    apiAudiences: audiences.length > 0 ? audiences : issuers,
  };
}

const toHeaderNames = (headers: readonly string[]): readonly string[] => headers.map((header) => header.toLowerCase());
