import type { CleanupStack } from '@cluster-apiserver/base';
import { type CreateTokenCache, createTokenWebhook, type TokenAuthenticator } from '@cluster-apiserver/gates';
import { createOutages } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import { followConnection } from '../files/webhook-connection.ts';
import type { AuthenticationSettings } from './authentication-settings.ts';

/** Authentication of tokens by a webhook; undefined if the flag is not set. */
export async function openWebhookTokens(
  { tokenWebhook, apiAudiences }: AuthenticationSettings,
  createCache: CreateTokenCache,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<TokenAuthenticator | undefined> {
  if (!tokenWebhook) return undefined;
  const { file, version, cacheTtlMs } = tokenWebhook;
  const { clock, random } = context.environment;
  const followed = await followConnection({ name: 'token webhook', file }, context);
  cleanup.defer('connections to the token webhook', followed.close);
  const stopped = new AbortController();
  cleanup.defer('questions to the token webhook', () => stopped.abort(new Error('the server stops')));
  const outages = createOutages(context.log.withName('authentication'), clock, {
    severity: 'error',
    // Meaning: Tokens that no other authenticator knows cannot be checked. Answers of the webhook that are still cached
    // remain valid.
    began: 'token webhook failed',
    remedy:
      'check the webhook of --authentication-token-webhook-config-file; its users get 401: docs/authentication.md',
    ended: 'token webhook answers again',
    steadyMs: 10_000,
  });
  const tokens = createTokenWebhook({
    connection: followed.current,
    clock,
    random,
    signal: stopped.signal,
    version,
    apiAudiences,
    reviewed: (error) => (error ? outages.failed({}, { error }) : outages.succeeded({})),
  });
  return cacheTtlMs === 0 ? tokens : createCache(tokens, cacheTtlMs);
}
