import { hash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';

/** What of a request says whether it opens a WebSocket: names in lower case, lines of one name joined by commas. */
export interface UpgradeRequest {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Only these leave HTTP. A request that asks for any other protocol is answered in this one, as HTTP allows. */
export const isWebSocketUpgrade = ({ method, httpVersion, headers }: UpgradeRequest): boolean =>
  method === 'GET' &&
  httpVersion === '1.1' &&
  splitTokens(headers.upgrade).includes('websocket') &&
  splitTokens(headers.connection).includes('upgrade') &&
  headers['transfer-encoding'] === undefined &&
  (headers['content-length'] ?? '0') === '0';

/** What the client is told when it gets its WebSocket, and what its token was. */
export interface Handshake {
  readonly headers: Readonly<Record<string, string>>;
  readonly bearerToken: string | undefined;
  /** What it asked for, without the one that was no protocol but a token. */
  readonly protocols: readonly string[];
}

/** Why there is none: the request is malformed, or its token is. */
export type HandshakeFault = 'key' | 'version' | 'protocol' | 'token';

export function performHandshake({ headers }: UpgradeRequest): Handshake | HandshakeFault {
  if (headers['sec-websocket-version'] !== '13') return 'version';
  const key = headers['sec-websocket-key'];
  if (typeof key !== 'string' || !/^[+/0-9A-Za-z]{22}==$/.test(key)) return 'key';
  const asked = splitList(headers['sec-websocket-protocol']);
  if (!asked.every((protocol) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(protocol))) return 'protocol';
  const protocols = asked.filter((protocol) => !protocol.startsWith(bearerPrefix));
  const bearer = asked.filter((protocol) => protocol.startsWith(bearerPrefix));
  const bearerToken = bearer.length === 0 ? undefined : decodeToken((bearer[0] as string).slice(bearerPrefix.length));
  // A browser ends a WebSocket that answers none of its protocols, and the token must not be said back.
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

/** A page cannot give a WebSocket an Authorization header, so its token comes as the name of a protocol. */
const bearerPrefix = 'base64url.bearer.authorization.k8s.io.';

/** By which a server shows that it has understood (RFC 6455, 1.3). */
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
