export { type Backoff, backoff } from './backoff.ts';
export {
  type Call,
  callUntil,
  type Caller,
  DeadlineExceededError,
  detached,
  inSpan,
  RequestCall,
  throwIfAborted,
  type Traced,
  withDeadline,
  withSpan,
  withinCall,
} from './call.ts';
export { type Clock, sleep, systemClock } from './clock.ts';
export { formatDuration, parseDuration } from './duration.ts';
export { follow } from './follow.ts';
export { invariant, unreachable } from './invariant.ts';
export { type LatencyPart, latencyParts, LatencyTracker, trackLatency } from './latency.ts';
export { nearestName } from './nearest-name.ts';
export { getOwn, setOwn } from './own.ts';
export { type Random, seededRandom, systemRandom } from './random.ts';
export { Scope } from './scope.ts';
export { atOnce, inOneStep, largeBytesMin, perform, resultOf, type Steps, type Work } from './steps.ts';
export { TurnBudget, type Turns, turnsOf } from './turns.ts';
export {
  endAfter,
  isSampled,
  parseTraceContext,
  serverAttributes,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  type TraceContext,
  traceHeaders,
} from './trace.ts';
