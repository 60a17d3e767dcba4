import { afterEach, expect, test } from '@jest/globals';
import { systemClock as clock } from '@cluster-apiserver/base';
import { loadAuditPolicy } from '@cluster-apiserver/config';
import { watchTurns } from '@cluster-apiserver/testkit/turns';
import { createAuditor } from './recorder.ts';
import { type AuditBackend, type BackendOptions, openBackend } from './backend.ts';
import { RotatingLog } from './rotating-log.ts';

const objectCharacters = 1_000_000;
const events = 400;
/** Below the limit of the queue. */
const queuedMax = 16;
const turnMsMax = 20;

let close = async (): Promise<void> => {};
afterEach(() => close());

/** A log in memory, which counts its bytes. */
function openLog(): { readonly log: RotatingLog; readonly writtenBytes: () => number } {
  let writtenBytes = 0;
  const file = {
    size: async () => 0,
    write: async (bytes: Buffer) => {
      await new Promise(setImmediate);
      writtenBytes += bytes.length;
      return bytes.length;
    },
    truncate: async () => {},
    close: async () => {},
  };
  const log = new RotatingLog({
    files: {
      open: async () => file,
      standardOutput: () => file,
      list: async () => [],
      rename: async () => {},
      remove: async () => {},
      compress: async () => {},
    },
    clock,
    path: '/audit.log',
    fileBytesMax: Number.POSITIVE_INFINITY,
    backupsMax: 0,
    ageDaysMax: 0,
    compress: false,
    foundOtherWriter: () => {},
    rotationFailed: (error) => {
      throw error;
    },
  });
  return { log, writtenBytes: () => writtenBytes };
}

const policy = loadAuditPolicy(
  JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'RequestResponse' }] }),
);

test.each(['batch', 'blocking'] as const)('large events in mode %s never hold the event loop', async (mode) => {
  const { log, writtenBytes } = openLog();
  const lost: unknown[] = [];
  const options: BackendOptions = {
    mode,
    format: 'json',
    eventCharactersMax: undefined,
    clock,
    eventsMax: 10_000,
    iterations: 4,
    sendsMax: 1,
    batch: { dueEvents: 1, waitMs: 0, eventsMax: Number.POSITIVE_INFINITY, charactersMax: 256 * 1024 },
    throttle: undefined,
    send: (lines) => log.append(lines),
    measures: { lost: (error) => void lost.push(error), sent: () => {} },
  };
  const backend = openBackend(options);
  close = () => backend.close();
  let processed = 0;
  const counted: AuditBackend = {
    ...backend,
    process: (event) => {
      processed++;
      return backend.process(event);
    },
  };
  const auditor = createAuditor({
    clock,
    policy: () => policy,
    backend: counted,
    measures: { event: () => {}, level: () => {}, rejected: () => {} },
    report: (error) => void lost.push(error),
  });
  const piece = `"${'x'.repeat(1_000)}",`;
  const texts = ['[', ...Array.from({ length: objectCharacters / piece.length }, () => piece), '0]'];
  const watched = watchTurns();
  for (let i = 0; i < events; i++) {
    const request = { target: '/a', remoteAddress: '10.0.0.1', header: () => undefined, onEnd: () => {} };
    const recorder = auditor.begin(
      { auditId: `id-${i}`, request, info: { verb: 'get', path: '/a', resource: undefined } },
      undefined,
    );
    await recorder.logRequestReceived({ name: 'ann', groups: [] });
    recorder.logResponseObject(texts, objectCharacters);
    void recorder.logResponse(200, false);
    do await new Promise(setImmediate);
    while (processed < 2 * (i + 1) || backend.queuedEvents > queuedMax);
  }
  await backend.close();
  const turns = watched.end();
  expect(lost).toEqual([]);
  expect(writtenBytes()).toBeGreaterThan(events * objectCharacters * 0.99);
  // Pauses of V8 depend on the heap of the whole process.
  expect(turns.filter(({ pausedMs }) => pausedMs === 0).filter(({ processorMs }) => processorMs > turnMsMax)).toEqual(
    [],
  );
});
