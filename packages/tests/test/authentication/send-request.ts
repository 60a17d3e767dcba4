/** Sends requests with a credential of the test's choice, or none. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { TestServer } from '../serve-kinds.ts';

export interface ReceivedResponse {
  readonly status: number;
  readonly message: string | undefined;
  readonly text: string;
}

export interface RequestOptions {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** GET by default. */
  readonly method?: string;
  readonly body?: string;
}

/** The default path: these users have no permission for it, so the response names the user. */
const accounts = '/api/v1/namespaces/team/serviceaccounts';

export async function sendRequest(
  { url, certificate }: Pick<TestServer, 'url' | 'certificate'>,
  token: string | undefined,
  { path = accounts, headers = {}, method = 'GET', body }: RequestOptions = {},
): Promise<ReceivedResponse> {
  const { hostname, port } = new URL(url);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = https.request({
    host: hostname,
    port,
    method,
    path,
    ca: certificate,
    agent: false,
    headers: { ...authorization, ...headers },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  const parsed = text.startsWith('{') ? (JSON.parse(text) as { message?: string }) : {};
  return { status: response.statusCode ?? 0, message: parsed.message, text };
}

/** The user name in a response of the authorizer. */
export const refusedUser = ({ message }: ReceivedResponse): string | undefined =>
  /User "([^"]*)"/.exec(message ?? '')?.[1];
