// Sends the requests of a case to the server.
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';

/** How long a step with `until` asks again by default. */
const untilMaxMs = 15_000;
const untilPauseMs = 100;
/** @type {{ onLine?: (line: string) => void, signal?: AbortSignal }} */
const noWatch = {};

/**
 * A client of one server.
 * @param {{ server: string, token?: string, ca?: Buffer }} target without `ca`, any certificate is accepted
 */
export function connect({ server, token, ca }) {
  const base = new URL(server);
  const protocol = base.protocol === 'https:' ? https : http;
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const agent = new protocol.Agent({ keepAlive: true, ...(base.protocol === 'https:' && trust) });

  /** Rejects if no response came. `onLine` gets each line of a response 200 as it arrives. */
  function send(request, watch = noWatch, isRepeated = false) {
    const { onLine, signal } = watch;
    const { method = 'GET', path, timeoutMs = 20_000 } = request;
    const payload = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const headers = headersOf(request, payload, token);
    return new Promise((resolve, reject) => {
      const options = {
        agent,
        host: base.hostname,
        port: base.port,
        method,
        path,
        headers,
        timeout: timeoutMs,
        signal,
      };
      const sent = protocol.request(options, (response) => receive(response, onLine, resolve));
      sent.on('timeout', () => sent.destroy(new Error(`no response in ${timeoutMs} ms`)));
      sent.on('error', (error) => {
        // The server may have closed a kept connection at this moment.
        const isStale = 'code' in error && error.code === 'ECONNRESET' && sent.reusedSocket && !isRepeated;
        if (isStale) resolve(send(request, watch, true));
        else reject(error);
      });
      sent.end(payload);
    });
  }

  /** Asks again until the response has this status, warning and text. Returns the last response. */
  async function sendUntil(request, { status, warning, matches, withinMs = untilMaxMs }) {
    for (const endMs = Date.now() + withinMs; ; await sleep(untilPauseMs)) {
      const response = await send(request);
      const isReached =
        (status === undefined || response.status === status) &&
        (warning === undefined || new RegExp(warning).test(response.headers.warning ?? '')) &&
        (matches === undefined || new RegExp(matches, 'm').test(response.text));
      if (isReached || Date.now() > endMs) return response;
    }
  }

  return { send, sendUntil };
}

function headersOf({ headers = {}, noAuth }, payload, token) {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const all = {
    accept: 'application/json',
    'user-agent': 'conformance/1',
    ...(token && !noAuth && { authorization: `Bearer ${token}` }),
    ...(payload !== undefined && { 'content-type': 'application/json' }),
    ...Object.fromEntries(named),
    ...(payload !== undefined && { 'content-length': Buffer.byteLength(payload) }),
  };
  // A case removes a header with null.
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}

/** Calls back when the response has ended, also if it was cut off. */
function receive(response, onLine, onEnd) {
  const { statusCode: status, headers, rawHeaders } = response;
  const body = headers['content-encoding'] === 'gzip' ? response.pipe(zlib.createGunzip()) : response;
  let text = '';
  let rest = '';
  body.setEncoding('utf8');
  body.on('data', (piece) => {
    text += piece;
    if (onLine === undefined || status !== 200) return;
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const line of lines.filter((one) => one.trim())) onLine(line);
  });
  const end = () => onEnd({ status, headers, rawHeaders, text });
  body.on('end', end);
  body.on('error', end);
  if (body !== response) response.on('error', (error) => body.destroy(error));
}
