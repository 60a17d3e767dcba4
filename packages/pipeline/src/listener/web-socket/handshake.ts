import { hash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';

/** The parts of a request that decide about the upgrade: lower-case names, with lines of one name joined by commas. */
export interface UpgradeRequest {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Requests for other protocols are answered over HTTP/1.1, as HTTP allows. */
export const isWebSocketUpgrade = ({ method, httpVersion, headers }: UpgradeRequest): boolean =>
  method === 'GET' &&
  httpVersion === '1.1' &&
  splitTokens(headers.upgrade).includes('websocket') &&
  splitTokens(headers.connection).includes('upgrade') &&
  headers['transfer-encoding'] === undefined &&
  (headers['content-length'] ?? '0') === '0';

/** The response headers of an accepted handshake, and the bearer token. */
export interface Handshake {
  readonly headers: Readonly<Record<string, string>>;
  readonly bearerToken: string | undefined;
  /** The requested subprotocols without the one that carries the token. */
  readonly protocols: readonly string[];
}

/** Why the handshake is refused. */
export type HandshakeError = 'key' | 'version' | 'protocol' | 'token';

export function performHandshake({ headers }: UpgradeRequest): Handshake | HandshakeError {
  if (headers['sec-websocket-version'] !== '13') return 'version';
  const key = headers['sec-websocket-key'];
  if (typeof key !== 'string' || !/^[+/0-9A-Za-z]{22}==$/.test(key)) return 'key';
  const requested = splitList(headers['sec-websocket-protocol']);
  if (!requested.every((protocol) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(protocol))) return 'protocol';
  const protocols = requested.filter((protocol) => !protocol.startsWith(bearerPrefix));
  const bearer = requested.filter((protocol) => protocol.startsWith(bearerPrefix));
  const [encodedToken] = bearer;
  const bearerToken = encodedToken === undefined ? undefined : decodeToken(encodedToken.slice(bearerPrefix.length));
  // Browsers close a WebSocket that selects none of their subprotocols, and the token must not be echoed.
  if (bearer.length > 1 || (bearer.length === 1 && (bearerToken === undefined || protocols.length === 0)))
    return 'token';
  const [protocol] = protocols;
  return {
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Accept': hash('sha1', key + acceptSuffix, 'base64'),
      ...(protocol !== undefined && { 'Sec-WebSocket-Protocol': protocol }),
    },
    bearerToken,
    protocols,
  };
}

/** Pages cannot set the Authorization header of a WebSocket, so the token is sent as a subprotocol. */
const bearerPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The GUID of RFC 6455, 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

function decodeToken(encoded: string): string | undefined {
  if (!/^[-_0-9A-Za-z]+$/.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64url');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

const splitList = (value: UpgradeRequest['headers'][string]): string[] =>
  String(value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const splitTokens = (value: UpgradeRequest['headers'][string]): string[] =>
  splitList(value).map((part) => part.toLowerCase());
