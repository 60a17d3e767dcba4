/** The fuzzed server: its preparation, and its checks between batches. */
import fs from 'node:fs';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { http1Client } from '@cluster-apiserver/testkit/api-client';
import { lampDefinition } from '../test/custom-sample.ts';
import { collectGarbage } from '../test/hostile/inspector.ts';
import { type ClusterFiles, type ProcessState, readProcessState } from '../test/hostile/server-process.ts';
import type { FuzzContext } from './input.ts';

const politePath = '/api/v1/namespaces/polite/serviceaccounts/polite';
const politePauseMs = 50;
/**
 * A client that waits this long for one object is not being served. The benchmark of hostile load has a much lower
 * limit.
 */
const politeMs = 10_000;
/** Time for the server to notice that its clients disconnected. */
const restMs = 20_000;
const restPollMs = 250;
/** The number of sockets to etcd and to the fuzzer's own clients varies. */
const descriptorsMax = 12;
/** Memory is at rest if it changes less than this for some polls. */
const quiet = { polls: 6, changeMiB: 2 };

export interface Server {
  readonly files: ClusterFiles;
  request(
    method: string,
    path: string,
    body?: object,
    type?: string,
  ): Promise<{ readonly status: number; readonly body: string }>;
}

export function serverOf(files: ClusterFiles): Server {
  const token = readToken(files);
  return {
    files,
    request: async (method, path, body, type = 'application/json') => {
      const headers = body && { 'content-type': type };
      const options = { method, ca: fs.readFileSync(files.ca), token, body, ...(headers && { headers }) };
      const { status, text } = await requestHttps(`${files.replica().url}${path}`, options);
      return { status, body: text };
    },
  };
}

const readToken = (files: ClusterFiles): string => fs.readFileSync(files.token, 'utf8').trim();

/** Creates the objects and tokens that the inputs are derived from. */
export async function prepareContext({ files, request: ask }: Server): Promise<FuzzContext> {
  const accounts = (namespace: string): string => `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await ask('POST', accounts('polite'), { metadata: { name: 'polite', labels: { app: 'polite' } } });
  for (const name of ['polite', 'other']) await ask('POST', accounts('fuzz-identity'), { metadata: { name } });
  await ask('POST', definitions, lampDefinition);
  const issued = await ask('POST', `${accounts('fuzz-identity')}/polite/token`, { spec: {} });
  const listed = await ask('GET', `${accounts('fuzz-identity')}?limit=1`);
  return {
    token: readToken(files),
    serviceAccountToken: (JSON.parse(issued.body) as { status: { token: string } }).status.token,
    continueToken: (JSON.parse(listed.body) as { metadata: { continue?: string } }).metadata.continue ?? 'none',
  };
}

/** Deletes the objects of a batch, so that growing memory is a leak. The well-behaved client's object stays. */
export async function deleteObjects(server: Server): Promise<void> {
  const { request: ask } = server;
  await deleteDefinitions(server);
  for (const [path, plural] of removed) {
    const { body } = await ask('GET', `${path}/${plural}`);
    const { items } = JSON.parse(body) as { items: readonly Item[] };
    const namespaces = new Set(items.map(({ metadata }) => metadata.namespace));
    for (const namespace of namespaces)
      if (!keptNamespaces.has(namespace))
        await ask('DELETE', `${path}/namespaces/${encodeURIComponent(namespace)}/${plural}`);
    for (const { metadata } of items)
      if (metadata.finalizers && !keptNamespaces.has(metadata.namespace))
        await ask(
          'PATCH',
          `${path}/namespaces/${encodeURIComponent(metadata.namespace)}/${plural}/${encodeURIComponent(metadata.name)}`,
          { metadata: { finalizers: null } },
          'application/merge-patch+json',
        );
  }
}

/** Definitions are the expensive ones of the cluster-scoped objects; the others have only a few names and may stay. */
async function deleteDefinitions({ request: ask }: Server): Promise<void> {
  const { items } = JSON.parse((await ask('GET', definitions)).body) as { items: readonly Item[] };
  for (const { metadata } of items) {
    if (metadata.name === lampDefinition.metadata.name) continue;
    const path = `${definitions}/${encodeURIComponent(metadata.name)}`;
    await ask('DELETE', path);
    // A finalizer that an input added; nothing has to be cleaned up, because the kinds have no objects.
    await ask('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json');
  }
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const removed = [
  ['/api/v1', 'serviceaccounts'],
  ['/api/v1', 'events'],
  ['/apis/rbac.authorization.k8s.io/v1', 'roles'],
  ['/apis/rbac.authorization.k8s.io/v1', 'rolebindings'],
  ['/apis/workshop.example/v1', 'lamps'],
] as const;
const keptNamespaces: ReadonlySet<string> = new Set(['polite', 'fuzz-identity', 'kube-system', 'kube-public']);

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly finalizers?: readonly string[] };
}

/** Reads one object repeatedly on a separate connection; the response must never change. */
export function startPoliteClient({ files }: Server): {
  readonly faults: string[];
  longestMs(): number;
  stop(): Promise<void>;
} {
  const faults: string[] = [];
  const stopping = new AbortController();
  let longestMs = 0;
  const loop = (async () => {
    const credentials = { ca: fs.readFileSync(files.ca), token: readToken(files) };
    const client = http1Client(files.replica().url, credentials);
    let first: string | undefined;
    while (!stopping.signal.aborted) {
      const sentMs = clock.monotonicMs();
      const answer = await client.request('GET', politePath).catch(String);
      const tookMs = clock.monotonicMs() - sentMs;
      longestMs = Math.max(longestMs, tookMs);
      if (typeof answer === 'string') faults.push(`polite client: ${answer}`);
      else if (answer.status !== 200) faults.push(`polite client: status ${answer.status}`);
      else if (answer.body !== (first ??= answer.body)) faults.push(`polite client: another object: ${answer.body}`);
      if (tookMs > politeMs) faults.push(`polite client: waited ${tookMs.toFixed(0)} ms`);
      await sleep(clock, politePauseMs);
    }
    client.close();
  })();
  return {
    faults,
    longestMs: () => longestMs,
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

export interface StateAtRest extends ProcessState {
  readonly heapMiB: number;
}

/**
 * Waits until connections are closed and memory is at rest, or for the time limit, and returns the process state without
 * garbage. Returns undefined if the process has ended.
 */
export async function waitUntilAtRest({ files }: Server, descriptorsBefore: number): Promise<StateAtRest | undefined> {
  const { pid } = files.replica();
  const endMs = clock.monotonicMs() + restMs;
  let compared = Number.POSITIVE_INFINITY;
  let quietPolls = 0;
  for (;;) {
    const state = readProcessState(pid);
    if (!state) return undefined;
    quietPolls = Math.abs(state.residentMiB - compared) > quiet.changeMiB ? 0 : quietPolls + 1;
    if (quietPolls === 0) compared = state.residentMiB;
    const closed = state.descriptors <= descriptorsBefore + descriptorsMax;
    if ((closed && quietPolls >= quiet.polls) || clock.monotonicMs() > endMs) break;
    await sleep(clock, restPollMs);
  }
  const heapMiB = await collectGarbage(pid);
  const state = readProcessState(pid);
  return state && { ...state, heapMiB };
}

/** Memory and descriptors that a process at rest should have released. */
export function growthFaults(before: ProcessState, after: ProcessState, growthMaxMiB: number): string[] {
  const growthMiB = after.residentMiB - before.residentMiB;
  const descriptors = after.descriptors - before.descriptors;
  return [
    ...(growthMiB > growthMaxMiB ? [`memory grew by ${growthMiB.toFixed(0)} MiB`] : []),
    ...(descriptors > descriptorsMax ? [`${descriptors} descriptors are still open`] : []),
  ];
}
