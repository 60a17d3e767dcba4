import type { CleanupStack } from '@cluster-apiserver/base';
import { loadWebhookConnection } from '@cluster-apiserver/config';
import { createTokenCache, type TokenAuthenticator, createTokenWebhook } from '@cluster-apiserver/gates';
import type { AuthenticationOptions } from './authentication.ts';
import { withFlagErrors } from '../files/flag-files.ts';
import { getApiAudiences } from './service-account-settings.ts';
import { followConnection } from '../files/webhook-connection.ts';

const flag = 'authentication-token-webhook-config-file';

/** Authentication of tokens by a webhook; undefined if the flag is not set. */
export async function openWebhookTokens(
  { flags, environment, log, records, countTokenLookup }: AuthenticationOptions,
  cleanup: CleanupStack,
): Promise<TokenAuthenticator | undefined> {
  const { clock, random, files } = environment;
  const file = flags[flag];
  if (file === '') return undefined;
  const first = await withFlagErrors(flag, () => loadWebhookConnection(file, files.read));
  const followed = followConnection({ file, first, of: 'token webhook', flag }, { environment, log, records });
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
