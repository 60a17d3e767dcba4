import type { CleanupStack } from '@cluster-apiserver/base';
import { loadWebhookConnection } from '@cluster-apiserver/config';
import { cachedTokens, type TokenAuthenticator, webhookTokens } from '@cluster-apiserver/gates';
import type { AuthenticationOptions } from './authentication.ts';
import { byFlag } from './flag-files.ts';
import { apiAudiences } from './service-account-flags.ts';
import { followConnection } from './webhook-connection.ts';

const flag = 'authentication-token-webhook-config-file';

/** Somebody outside who knows tokens; undefined when no flag names one. */
export async function openWebhookTokens(
  { flags, surroundings, log, records, tokenAsked }: AuthenticationOptions,
  scope: CleanupStack,
): Promise<TokenAuthenticator | undefined> {
  const { clock, random, files } = surroundings;
  const file = flags[flag];
  if (file === '') return undefined;
  const first = await byFlag(flag, () => loadWebhookConnection(file, files.read));
  const followed = followConnection({ file, first, of: 'token webhook', flag }, { surroundings, log, records });
  scope.defer('connections to the token webhook', followed.close);
  const stopped = new AbortController();
  scope.defer('questions to the token webhook', () => stopped.abort(new Error('the server stops')));
  const tokens = webhookTokens({
    connection: followed.current,
    clock,
    random,
    signal: stopped.signal,
    version: flags['authentication-token-webhook-version'],
    apiAudiences: apiAudiences(flags),
  });
  const ttlMs = flags['authentication-token-webhook-cache-ttl'];
  return ttlMs === 0 ? tokens : cachedTokens(tokens, { clock, random, ttlMs, asked: tokenAsked });
}
