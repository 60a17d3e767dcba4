import { callUntil } from '@cluster-apiserver/base';
import { ConfigurationError, loadWebhookConnection, type WebhookConnection } from '@cluster-apiserver/config';
import { createHttpsClient, HttpsError } from '@cluster-apiserver/gates';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { FlagError } from '../../flags/flag.ts';
import type { Environment } from '../../environment.ts';
import { configzPath, type Configz, isConfigz } from '../../configuration/configz.ts';

export interface ShowFlags {
  readonly output: 'text' | 'json';
  readonly kubeconfig: string;
  readonly server: string;
  readonly token: string;
  readonly 'token-file': string;
  readonly 'certificate-authority': string;
}

const timeoutMs = 30_000;
/** Far larger than any set of flags and file paths. */
const bodyBytesMax = 4 * 2 ** 20;

/** Prints the flags and files that a running server uses. Returns the exit code: 1 if the request fails. */
export async function show(
  flags: ShowFlags,
  environment: Pick<Environment, 'clock' | 'files'>,
  print: (line: string) => void,
  printError: (line: string) => void,
): Promise<number> {
  const { clock } = environment;
  const { server, tlsServerName, certificateAuthority, clientCertificate, clientKey, token } = await openConnection(
    flags,
    environment,
  );
  const client = createHttpsClient({
    clock,
    ca: certificateAuthority,
    cert: clientCertificate,
    key: clientKey,
    serverName: tlsServerName,
  });
  const url = new URL(server);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${configzPath}`;
  try {
    const { status, body } = await client.send(
      { method: 'GET', url, headers: token ? { authorization: `Bearer ${token}` } : {}, bodyBytesMax, timeoutMs },
      callUntil(clock.monotonicMs() + timeoutMs),
    );
    if (status !== 200) {
      printError(`${url.href} answered ${status}: ${readMessage(body)}`);
      return 1;
    }
    if (flags.output === 'json') {
      print(body.trimEnd());
      return 0;
    }
    const document: unknown = JSON.parse(body);
    if (!isConfigz(document)) {
      printError(`${url.href} answered in another format`);
      return 1;
    }
    for (const line of formatConfigz(document)) print(line);
    return 0;
  } catch (error) {
    if (!(error instanceof HttpsError)) throw error;
    const reason = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    printError(`${url.href}: ${error.message}${reason}`);
    return 1;
  } finally {
    client.close();
  }
}

function readMessage(body: string): string {
  try {
    const status: unknown = JSON.parse(body);
    if (isJsonObject(status) && typeof status['message'] === 'string') return status['message'];
  } catch {
    // Not a Status, for example of a proxy.
  }
  return body.slice(0, 200);
}

async function openConnection(
  flags: ShowFlags,
  { files }: Pick<Environment, 'files'>,
): Promise<Omit<WebhookConnection, 'content'>> {
  if ((flags.kubeconfig === '') === (flags.server === ''))
    throw new FlagError(['give either --kubeconfig or --server']);
  if (flags.kubeconfig !== '') {
    try {
      return await loadWebhookConnection(flags.kubeconfig, files.read);
    } catch (error) {
      if (error instanceof ConfigurationError)
        throw new FlagError(error.faults.map((fault) => `--kubeconfig: ${fault}`));
      throw error;
    }
  }
  const server = URL.parse(flags.server);
  if (server?.protocol !== 'https:') throw new FlagError(['--server: expected a URL with https']);
  const content = async (flag: 'token-file' | 'certificate-authority'): Promise<Buffer | undefined> => {
    if (flags[flag] === '') return undefined;
    return files.read(flags[flag]).catch((error: Error) => {
      throw new FlagError([`--${flag}: cannot read ${flags[flag]}: ${error.message}`]);
    });
  };
  return {
    server,
    tlsServerName: undefined,
    certificateAuthority: await content('certificate-authority'),
    clientCertificate: undefined,
    clientKey: undefined,
    token: (await content('token-file'))?.toString().trim() || flags.token || undefined,
  };
}

/** The flags in command-line syntax, and the state of each file. */
function formatConfigz({ version, startTime, flags, files }: Configz): readonly string[] {
  const width = Math.max(0, ...files.map(({ flag }) => flag.length + 2));
  return [
    `version ${version}, started at ${startTime}`,
    '',
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
    '',
    ...files.flatMap(({ flag, kind, path, hash, lastReloadTime, lastReloadError }) => [
      `${`--${flag}`.padEnd(width)}  ${kind}  ${path}`,
      ...(hash ? [`    hash ${hash}`] : []),
      `    loaded at ${lastReloadTime}`,
      ...(lastReloadError ? [`    NOT RELOADED at ${lastReloadError.time}: ${lastReloadError.message}`] : []),
    ]),
  ];
}
