export { onAbort, onSharedAbort } from './abort-listeners.ts';
export { End } from './end.ts';
export { type Backoff, backoff } from './backoff.ts';
export {
  type Call,
  callUntil,
  type Caller,
  DeadlineExceededError,
  detach,
  inSpan,
  RequestCall,
  throwIfAborted,
  type SpanHolder,
  withDeadline,
  awaitWithin,
} from './call.ts';
export { BoundedCache, ExpiringCache } from './bounded-cache.ts';
export { Coalescer } from './coalescer.ts';
export { type Clock, sleep, systemClock } from './clock.ts';
export { FairQueue } from './fair-queue.ts';
export { asError, errorCode, errorMessage } from './error.ts';
export { formatDuration, parseDuration } from './duration.ts';
export { invariant, requireValue, unreachable } from './invariant.ts';
export { bytesOfText, bytesOfValue, keepText } from './kept-text.ts';
export { type LatencyPart, latencyParts, LatencyTracker, trackLatency } from './latency.ts';
export { LongList, type ListEntry } from './long-list.ts';
export { nearestName } from './nearest-name.ts';
export { getOwn, ownKeys, setOwn } from './own.ts';
export { decodePemBlock, type PemBlock, pemBlocks, readCertificateBlocks } from './pem.ts';
export { chain, firstOf, settle } from './settle.ts';
export { Places } from './places.ts';
export { type Random, seededRandom, systemRandom } from './random.ts';
export { CleanupStack } from './cleanup-stack.ts';
export { runSync, toSyncTask, largeBytesMin, runTask, awaitValue, type SyncTask, type Task } from './task.ts';
export { ShortList } from './short-list.ts';
export { type Loop, type LaneName, loopOf } from './loop.ts';
export {
  runInSpan,
  isSampled,
  parseTraceContext,
  serverAttributes,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  type TraceContext,
  traceHeaders,
} from './trace.ts';
