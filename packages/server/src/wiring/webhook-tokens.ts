import path from 'node:path';
import type { Scope } from '@cluster-apiserver/base';
import { type Content, loadKubeconfig } from '@cluster-apiserver/config';
import {
  cachedTokens,
  httpsClient,
  type TokenAuthenticator,
  type WebhookOptions,
  webhookTokens,
} from '@cluster-apiserver/gates';
import { FlagError } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import type { AuthenticationOptions } from './authentication.ts';
import { byFlag, flagFile } from './flag-files.ts';
import { apiAudiences } from './service-account-flags.ts';

const flag = 'authentication-token-webhook-config-file';
/** Each can be kept open for the next question. */
const connectionsMax = 64;

/** Somebody outside who knows tokens; undefined when no flag names one. */
export async function openWebhookTokens(
  { flags, surroundings, tokenAsked }: AuthenticationOptions,
  scope: Scope,
): Promise<TokenAuthenticator | undefined> {
  const { clock, random, files } = surroundings;
  const text = await flagFile(flag, flags, files);
  if (!text) return undefined;
  const webhook = await openWebhook(text.toString(), flags[flag], surroundings, scope);
  const stopped = new AbortController();
  scope.onClose('questions to the token webhook', () => stopped.abort(new Error('the server stops')));
  const tokens = webhookTokens({
    ...webhook,
    clock,
    random,
    signal: stopped.signal,
    version: flags['authentication-token-webhook-version'],
    apiAudiences: apiAudiences(flags),
  });
  const ttlMs = flags['authentication-token-webhook-cache-ttl'];
  return ttlMs === 0 ? tokens : cachedTokens(tokens, { clock, random, ttlMs, asked: tokenAsked });
}

type Webhook = Pick<WebhookOptions, 'client' | 'url' | 'bearerToken'>;

async function openWebhook(text: string, file: string, { clock, files }: Surroundings, scope: Scope): Promise<Webhook> {
  const config = await byFlag(flag, () => loadKubeconfig(text));
  const read = async (content: Content): Promise<Buffer> =>
    'data' in content
      ? content.data
      : files.read(path.isAbsolute(content.file) ? content.file : path.join(path.dirname(file), content.file));
  const atStart = async (content: Content | undefined): Promise<Buffer | undefined> => {
    try {
      return content && (await read(content));
    } catch (error) {
      throw new FlagError([`--${flag}: ${file} names a file that cannot be read: ${(error as Error).message}`]);
    }
  };
  const { server: url, tlsServerName: serverName, token } = config;
  await atStart(token);
  const [ca, cert, key] = await Promise.all(
    [config.certificateAuthority, config.clientCertificate, config.clientKey].map(atStart),
  );
  const client = httpsClient({ clock, serverName, ca, cert, key, connectionsMax });
  scope.onClose('connections to the token webhook', client.close);
  return { client, url, bearerToken: async () => (token ? (await read(token)).toString().trim() : undefined) };
}
