/**
 * The well-behaved client's process: `polite.ts PORT CA-FILE TOKEN-FILE PATH`. Sends requests on one connection until
 * its parent stops it. It should run with real-time priority: a response that waits in its socket counts as late.
 */
import fs from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import type { PoliteReport } from './report.ts';

const intervalMs = 5;
/** client-go has at most so many requests in flight. Later ones wait, and the wait counts as latency. */
const openRequestsMax = 100;
/** A request without a response so long after the attack counts as an error. */
const lastAnswerMs = 20_000;
/** Like client-go, reconnect with the next request. */
const reconnectPauseMs = 100;

const [port = '', ca = '', token = '', path = ''] = process.argv.slice(2);
const authority = fs.readFileSync(ca);
const authorization = `Bearer ${fs.readFileSync(token, 'utf8').trim()}`;

const latenciesMs: number[] = [];
const errors: Record<string, number> = {};
const failed = (what: string): void => void (errors[what] = (errors[what] ?? 0) + 1);
let session: ClientHttp2Session | undefined;
let reconnectAtMs = 0;
/** Due times of the requests without a response. */
const open = new Set<{ readonly dueMs: number }>();
let stopping = false;
let ownDelayMs = 0;

function current(): ClientHttp2Session | undefined {
  if (session && !session.closed && !session.destroyed) return session;
  if (clock.monotonicMs() < reconnectAtMs) return undefined;
  reconnectAtMs = clock.monotonicMs() + reconnectPauseMs;
  session = connect(`https://127.0.0.1:${port}`, { ca: authority });
  session.on('error', () => {}); // each request also gets this error
  return session;
}

/** Latency is measured from the time at which the request was due. */
function sendRequest(dueMs: number): void {
  const connection = current();
  if (!connection) return failed('no connection');
  const stream = connection.request({ ':path': path, authorization });
  const request = { dueMs };
  open.add(request);
  let status: number | undefined;
  let body = '';
  stream.setEncoding('utf8');
  stream.on('response', (headers) => (status = headers[':status']));
  stream.on('data', (text: string) => (body += text));
  stream.on('error', () => {}); // 'close' follows
  stream.on('close', () => {
    open.delete(request);
    if (status === undefined) return failed('no answer');
    latenciesMs.push(clock.monotonicMs() - dueMs);
    if (status !== 200) failed(`${status}`);
    else if (!body.startsWith('{') || !body.includes('"polite"')) failed('wrong body');
  });
}

const report = (): PoliteReport => {
  const nowMs = clock.monotonicMs();
  const unanswered = [...[...open].map(({ dueMs }) => dueMs), ...waiting];
  // Requests in flight have waited at least this long.
  const ages = unanswered.map((dueMs) => nowMs - dueMs);
  const sorted = [...latenciesMs, ...ages].toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    answered: latenciesMs.length,
    errors: { ...errors, ...(unanswered.length > 0 && { unanswered: unanswered.length }) },
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    ownDelayMs,
  };
};

process.once('message', () => (stopping = true));
process.once('disconnect', () => process.exit(0));
let announced = false;
const waiting: number[] = [];
for (let dueMs = clock.monotonicMs(); !stopping; ) {
  const nowMs = clock.monotonicMs();
  // This process was delayed itself, so no request was due before it woke up.
  ownDelayMs = Math.max(ownDelayMs, nowMs - dueMs);
  waiting.push(nowMs);
  while (waiting.length > 0 && open.size < openRequestsMax) sendRequest(waiting.shift() as number);
  dueMs = Math.max(dueMs + intervalMs, nowMs);
  if (!announced && latenciesMs.length >= 50) {
    // The connection is open and the code is compiled: measurement starts here.
    announced = true;
    latenciesMs.length = 0;
    ownDelayMs = 0;
    process.send?.('ready');
  }
  await sleep(clock, Math.max(0, dueMs - clock.monotonicMs()));
}
const endMs = clock.monotonicMs() + lastAnswerMs;
while ((open.size > 0 || waiting.length > 0) && clock.monotonicMs() < endMs) {
  while (waiting.length > 0 && open.size < openRequestsMax) sendRequest(waiting.shift() as number);
  await sleep(clock, intervalMs);
}
process.send?.(report(), () => process.exit(0));
