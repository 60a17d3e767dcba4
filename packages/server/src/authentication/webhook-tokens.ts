import type { CleanupStack } from '@cluster-apiserver/base';
import { createTokenCache, type TokenAuthenticator, createTokenWebhook } from '@cluster-apiserver/gates';
import type { AuthenticationOptions } from './authentication.ts';
import { fileOf } from '../files/flag-files.ts';
import { getApiAudiences } from './service-account-settings.ts';
import { followConnection } from '../files/webhook-connection.ts';

const flag = 'authentication-token-webhook-config-file';

/** Authentication of tokens by a webhook; undefined if the flag is not set. */
export async function openWebhookTokens(
  { flags, environment, log, records, countTokenLookup }: AuthenticationOptions,
  cleanup: CleanupStack,
): Promise<TokenAuthenticator | undefined> {
  const { clock, random } = environment;
  const file = fileOf(flags, flag);
  if (!file) return undefined;
  const followed = await followConnection({ name: 'token webhook', file }, { environment, log, records });
  cleanup.defer('connections to the token webhook', followed.close);
  const stopped = new AbortController();
  cleanup.defer('questions to the token webhook', () => stopped.abort(new Error('the server stops')));
  const tokens = createTokenWebhook({
    connection: followed.current,
    clock,
    random,
    signal: stopped.signal,
    version: flags['authentication-token-webhook-version'],
    apiAudiences: getApiAudiences(flags),
  });
  const ttlMs = flags['authentication-token-webhook-cache-ttl'];
  return ttlMs === 0 ? tokens : createTokenCache(tokens, { clock, random, ttlMs, countLookup: countTokenLookup });
}
