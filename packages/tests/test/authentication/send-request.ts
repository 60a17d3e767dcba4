/** Sends requests with a credential of the test's choice, or none. */
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
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
  const options = { method, ca: certificate, token, headers, body };
  const { status, text } = await requestHttps(`${url}${path}`, options);
  const parsed = text.startsWith('{') ? (JSON.parse(text) as { message?: string }) : {};
  return { status, message: parsed.message, text };
}

/** The user name in a response of the authorizer. */
export const refusedUser = ({ message }: ReceivedResponse): string | undefined =>
  /User "([^"]*)"/.exec(message ?? '')?.[1];
