/**
 * A member of etcd as it is, through the JSON gateway that every etcd has on its client port: no code of this project
 * stands between a test and what is stored.
 */
export interface EtcdMember {
  readonly id: string;
  /** The member that it follows, itself included; '0' when it knows of none. */
  readonly leader: string;
  /** Of the newest write that it knows. */
  readonly revision: number;
  readonly url: string;
}

const answerTimeoutMs = 1_000;

/** Undefined when the member does not answer. */
export async function memberAt(url: string): Promise<EtcdMember | undefined> {
  try {
    const { header, leader = '0' } = (await post(url, '/v3/maintenance/status', {})) as StatusAnswer;
    return { id: header.member_id, leader, revision: Number(header.revision), url };
  } catch {
    return undefined; // whoever asks waits for a condition, and names it when it does not come
  }
}

/** One change in etcd's own log. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  /** Undefined for a deletion. */
  readonly value: string | undefined;
}

/** Everything that ever happened to the keys below a prefix, in order. The history must not have been compacted. */
export async function readChanges(url: string, prefix: string): Promise<Change[]> {
  // The watch has no end of its own: it has told everything when it tells of a key written now.
  const end = `${prefix}~end`;
  await post(url, '/v3/kv/put', { key: base64(end), value: '' });
  const changes: Change[] = [];
  const stop = new AbortController();
  try {
    for await (const told of streamChanges(url, prefix, 1, stop.signal)) {
      for (const change of told) {
        if (change.key === end) return changes;
        changes.push(change);
      }
    }
  } finally {
    stop.abort();
  }
  throw new Error('etcd ended the watch of its history before its end');
}

/** What happens to the keys below a prefix from a revision on, those of one revision together. Ends with its member. */
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
    const { result } = JSON.parse(line) as WatchAnswer;
    if (!result || result.canceled) throw new Error(`etcd ended the watch of its history: ${line}`);
    if (!result.events) continue;
    yield result.events.map(({ type, kv }) => ({
      revision: Number(kv.mod_revision),
      key: text(kv.key),
      value: type === 'DELETE' ? undefined : text(kv.value ?? ''),
    }));
  }
}

/** Makes etcd forget what was before a revision. */
export async function compact(url: string, revision: number): Promise<void> {
  await post(url, '/v3/kv/compaction', { revision: `${revision}` });
}

/** What an operator does whose etcd is full: forget what was, give the space back, and end the alarm. */
export async function reclaimSpace(url: string): Promise<void> {
  const { header } = (await post(url, '/v3/maintenance/status', {})) as StatusAnswer;
  await post(url, '/v3/kv/compaction', { revision: header.revision, physical: true });
  await post(url, '/v3/maintenance/defragment', {});
  await post(url, '/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: header.member_id, alarm: 'NOSPACE' });
}

/** The names of all keys there are. */
export async function allKeys(url: string): Promise<string[]> {
  const { kvs = [] } = (await post(url, '/v3/kv/range', {
    key: 'AA==',
    range_end: 'AA==',
    keys_only: true,
  })) as RangeAnswer;
  return kvs.map(({ key }) => text(key));
}

/** The bytes under a key as they are; undefined when there are none. */
export async function rawValue(url: string, key: string): Promise<Buffer | undefined> {
  const { kvs = [] } = (await post(url, '/v3/kv/range', { key: base64(key) })) as RangeAnswer;
  return kvs[0] && Buffer.from(kvs[0].value ?? '', 'base64');
}

/** Puts bytes under a key, behind the back of every server. */
export async function putRaw(url: string, key: string, value: Buffer): Promise<void> {
  await post(url, '/v3/kv/put', { key: base64(key), value: value.toString('base64') });
}

// The gateway leaves out fields that are zero, and writes 64-bit numbers as texts and bytes in base64.

interface StatusAnswer {
  readonly header: { readonly member_id: string; readonly revision: string };
  readonly leader?: string;
}

interface RangeAnswer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
}

interface WatchAnswer {
  readonly result?: { readonly canceled?: boolean; readonly events?: readonly WatchEvent[] };
}

interface WatchEvent {
  readonly type?: 'DELETE';
  readonly kv: { readonly key: string; readonly mod_revision: string; readonly value?: string };
}

async function post(url: string, path: string, body: object): Promise<unknown> {
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
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
const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString();

/** The first key behind all that begin with an ASCII prefix. */
const prefixEnd = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
