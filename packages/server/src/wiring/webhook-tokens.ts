import path from 'node:path';
import type { Scope } from '@cluster-apiserver/base';
import { type Content, loadKubeconfig } from '@cluster-apiserver/config';
import { cachedTokens, httpsPost, type Post, type TokenAuthenticator, webhookTokens } from '@cluster-apiserver/gates';
import { FlagError } from '../flags.ts';
import type { Files } from '../surroundings.ts';
import type { AuthenticationOptions } from './authentication.ts';
import { byFlag, flagFile } from './flag-files.ts';
import { apiAudiences } from './service-account-flags.ts';

const flag = 'authentication-token-webhook-config-file';

/** Somebody outside who knows tokens; undefined when no flag names one. */
export async function openWebhookTokens(
  { flags, surroundings, tokenAsked }: AuthenticationOptions,
  scope: Scope,
): Promise<TokenAuthenticator | undefined> {
  const { clock, random, files } = surroundings;
  const text = await flagFile(flag, flags, files);
  if (!text) return undefined;
  const post = await posting(text.toString(), flags[flag], files, scope);
  const stopped = new AbortController();
  scope.onClose('questions to the token webhook', () => stopped.abort(new Error('the server stops')));
  const tokens = webhookTokens({
    post,
    clock,
    random,
    signal: stopped.signal,
    version: flags['authentication-token-webhook-version'],
    apiAudiences: apiAudiences(flags),
  });
  const ttlMs = flags['authentication-token-webhook-cache-ttl'];
  return ttlMs === 0 ? tokens : cachedTokens(tokens, { clock, random, ttlMs, asked: tokenAsked });
}

async function posting(text: string, file: string, files: Files, scope: Scope): Promise<Post> {
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
  const { post, close } = httpsPost({
    url,
    serverName,
    ca,
    cert,
    key,
    token: async () => (token ? (await read(token)).toString().trim() : undefined),
  });
  scope.onClose('connections to the token webhook', close);
  return post;
}
