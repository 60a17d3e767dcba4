import { Agent, fetch, type RequestInit, type Response } from 'undici';

/**
 * Accesses an etcd member through the JSON gateway on its client port, so that no code of this project lies between a
 * test and the stored data.
 */
export interface EtcdMember {
  readonly id: string;
  /** Id of the leader that the member follows, possibly itself; '0' if it knows none. */
  readonly leader: string;
  /** Latest revision that the member knows. */
  readonly revision: number;
  readonly url: string;
}

const answerTimeoutMs = 1_000;

/** PEM, for a member that serves TLS. */
export interface ClientCredentials {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** Whether the member has a leader and agrees with it: its own health check, which works behind TLS, too. */
export async function isHealthy(url: string, credentials?: ClientCredentials): Promise<boolean> {
  return (await readHealth(url, credentials)) === 'true';
}

/** What the member says of its health, or why it says nothing. */
export async function readHealth(url: string, credentials?: ClientCredentials): Promise<string> {
  try {
    return textAt(await ask(`${url}/health?exclude=NOSPACE`, {}, credentials), 'health') ?? 'no answer';
  } catch (error) {
    return error instanceof Error ? `${error.message}: ${String(error.cause)}` : String(error);
  }
}

/** Undefined if the member does not respond. */
export async function memberAt(url: string): Promise<EtcdMember | undefined> {
  try {
    const status = await post(url, '/v3/maintenance/status', {});
    const leader = textAt(status, 'leader') ?? '0';
    const revision = Number(requireText(status, 'header', 'revision'));
    return { id: requireText(status, 'header', 'member_id'), leader, revision, url };
  } catch {
    return undefined; // callers poll for a condition and report its absence
  }
}

/** One change in etcd's history. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** As stored, so usually encrypted; undefined for a deletion. */
  readonly value: Buffer | undefined;
}

/** All changes ever made to keys with a prefix, in order. The history must not have been compacted. */
export async function readChanges(url: string, prefix: string): Promise<Change[]> {
  // The watch never ends: it is complete when it delivers a key that is written now.
  const end = `${prefix}~end`;
  await post(url, '/v3/kv/put', { key: base64(end), value: '' });
  const changes: Change[] = [];
  const stop = new AbortController();
  try {
    for await (const batch of streamChanges(url, prefix, 1, stop.signal)) {
      for (const change of batch) {
        if (change.key === end) return changes;
        changes.push(change);
      }
    }
  } finally {
    stop.abort();
  }
  throw new Error('etcd ended the watch of its history before its end');
}

/** The changes to keys with a prefix from a revision on, grouped by revision. Ends when the member stops. */
export async function* streamChanges(
  url: string,
  prefix: string,
  revision: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Change[]> {
  const range = { key: base64(prefix), range_end: base64(prefixEnd(prefix)) };
  const body = JSON.stringify({ create_request: { ...range, start_revision: `${revision}` } });
  const answer = await fetch(`${url}/v3/watch`, { method: 'POST', body, signal });
  for await (const line of linesOf(answer)) {
    const result = valueAt(JSON.parse(line), 'result');
    if (!result || valueAt(result, 'canceled')) throw new Error(`etcd ended the watch of its history: ${line}`);
    const events = listAt(result, 'events');
    if (events.length === 0) continue;
    yield events.map((event) => ({
      revision: Number(requireText(event, 'kv', 'mod_revision')),
      key: text(requireText(event, 'kv', 'key')),
      value: textAt(event, 'type') === 'DELETE' ? undefined : bytes(textAt(event, 'kv', 'value') ?? ''),
    }));
  }
}

/** Compacts the history before a revision. */
export async function compact(url: string, revision: number): Promise<void> {
  await post(url, '/v3/kv/compaction', { revision: `${revision}` });
}

/** An operator's recovery of a full etcd: compact, defragment, disarm the alarm. */
export async function reclaimSpace(url: string): Promise<void> {
  const status = await post(url, '/v3/maintenance/status', {});
  await post(url, '/v3/kv/compaction', { revision: requireText(status, 'header', 'revision'), physical: true });
  await post(url, '/v3/maintenance/defragment', {});
  await setSpaceAlarm(url, false);
}

/** Sets or clears the alarm of a member without space: with it etcd accepts no writes but deletions. */
export async function setSpaceAlarm(url: string, isSet: boolean): Promise<void> {
  const memberID = requireText(await post(url, '/v3/maintenance/status', {}), 'header', 'member_id');
  const action = isSet ? 'ACTIVATE' : 'DEACTIVATE';
  await post(url, '/v3/maintenance/alarm', { action, memberID, alarm: 'NOSPACE' });
}

/** All keys. */
export async function allKeys(url: string): Promise<string[]> {
  const range = await post(url, '/v3/kv/range', { key: 'AA==', range_end: 'AA==', keys_only: true });
  return listAt(range, 'kvs').map((entry) => text(requireText(entry, 'key')));
}

/** The raw bytes of a key; undefined if it does not exist. */
export async function rawValue(url: string, key: string): Promise<Buffer | undefined> {
  const [entry] = listAt(await post(url, '/v3/kv/range', { key: base64(key) }), 'kvs');
  return entry === undefined ? undefined : bytes(textAt(entry, 'value') ?? '');
}

/** The lease of a key; undefined if it has none. */
export async function leaseOf(url: string, key: string): Promise<string | undefined> {
  const [entry] = listAt(await post(url, '/v3/kv/range', { key: base64(key) }), 'kvs');
  if (entry === undefined) throw new Error(`${key} is absent`);
  return textAt(entry, 'lease');
}

/** Writes raw bytes to a key, bypassing every server. */
export async function putRaw(url: string, key: string, value: Buffer): Promise<void> {
  await post(url, '/v3/kv/put', { key: base64(key), value: value.toString('base64') });
}

// The gateway omits fields that are zero, writes 64-bit numbers as strings and bytes as base64.

/** The value at a path of an answer; undefined if a part of the path is absent. */
function valueAt(answer: unknown, ...path: readonly string[]): unknown {
  let value = answer;
  for (const name of path)
    value =
      typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
  return value;
}

function textAt(answer: unknown, ...path: readonly string[]): string | undefined {
  const value = valueAt(answer, ...path);
  return typeof value === 'string' ? value : undefined;
}

function requireText(answer: unknown, ...path: readonly string[]): string {
  const value = textAt(answer, ...path);
  if (value === undefined) throw new Error(`the answer of etcd has no ${path.join('.')}: ${JSON.stringify(answer)}`);
  return value;
}

function listAt(answer: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(answer, ...path);
  return Array.isArray(value) ? value : [];
}

const post = (url: string, path: string, body: object): Promise<unknown> =>
  ask(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });

/** On a connection of its own, because members are killed between two calls. */
async function ask(url: string, request: RequestInit, credentials: ClientCredentials = {}): Promise<unknown> {
  const agent = new Agent({ connect: credentials });
  try {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(answerTimeoutMs), dispatcher: agent });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  } finally {
    await agent.destroy();
  }
}

async function* linesOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of answer.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
const bytes = (encoded: string): Buffer => Buffer.from(encoded, 'base64');
const text = (encoded: string): string => bytes(encoded).toString();

/** The first key after all keys with an ASCII prefix. */
const prefixEnd = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
