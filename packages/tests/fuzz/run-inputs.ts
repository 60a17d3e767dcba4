import { seededRandom } from '@cluster-apiserver/base';
import { describeCase } from '../test/hostile/case.ts';
import type { Http2Target } from '../test/hostile/http2-connection.ts';
import { send } from '../test/hostile/send.ts';
import { inputAt } from './generate.ts';
import { openHttp1Connection } from './http1-connection.ts';
import { openHttp2Connection } from './http2-connection.ts';
import type { Request } from '../test/hostile/requests.ts';
import type { FuzzContext, RequestInput } from './input.ts';
import { faultOf } from './check-response.ts';
import type { SharedConnection, Outcome } from './connection.ts';
import { openWebSocket } from './web-socket-connection.ts';

export interface Fault {
  /** Undefined for faults that no single input caused. */
  readonly number: number | undefined;
  readonly kind: string;
  readonly text: string;
}

export interface Run {
  readonly faults: readonly Fault[];
  /** Counts by kind and by outcome. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Inputs that were in flight or had just ended when the run was stopped. */
  readonly suspects: readonly number[];
}

export interface RunOptions {
  readonly seed: number;
  readonly context: FuzzContext;
  readonly target: Http2Target;
  /** Stops the run and abandons inputs in flight. */
  readonly signal: AbortSignal;
}

/** Concurrent inputs: enough to keep a core busy, below the server's limit of requests in flight. */
const workers = 96;
const http2Connections = 4;
/** Another input may have ended the connection, so an input without a response is sent again. */
const attemptsMax = 3;
const recentMax = 300;
/** HTTP/2 libraries end the whole session, with all its requests, for a longer name or value. */
const fieldBytesMax = 65_536;
/** Losses that no input may cause, after all attempts. A malformed header may justify a stream reset. */
const lostFaults: Readonly<Record<string, string>> = {
  'reset 2': 'the stream was reset with INTERNAL_ERROR',
  'connection closed': 'the connection was closed without a response',
};

/** Sends inputs and checks each response. */
export async function runInputs(
  numbers: readonly number[],
  { seed, context, target, signal }: RunOptions,
): Promise<Run> {
  const shared = Array.from({ length: http2Connections }, () => openHttp2Connection(target));
  const free: SharedConnection[] = [];
  const all: SharedConnection[] = [...shared];
  const faults: Fault[] = [];
  const kinds: Record<string, number> = {};
  const outcomes: Record<string, number> = {};
  const underWay = new Set<number>();
  const recent: number[] = [];
  let next = 0;

  const sendOn = async (input: RequestInput, number: number): Promise<Outcome> => {
    if (input.over === 'h2' && endsSession(input.request)) return sendAlone(input.request);
    if (input.over === 'h2') return (shared[number % http2Connections] as SharedConnection).send(input.request);
    const connection = free.pop() ?? openHttp1Connection(target, seededRandom(seed + number));
    if (!all.includes(connection)) all.push(connection);
    const outcome = await connection.send(input.request);
    free.push(connection);
    return outcome;
  };

  const sendAlone = async (request: Request): Promise<Outcome> => {
    const lane = openHttp2Connection(target);
    const outcome = await lane.send(request);
    await lane.close();
    return 'lost' in outcome ? { lost: 'session ended by a field' } : outcome;
  };

  const runOne = async (number: number): Promise<void> => {
    const { kind, input } = inputAt(seed, number, context);
    count(kinds, kind);
    const found: string[] = [];
    switch (input.form) {
      case 'connection':
        found.push(...(await send(input.case, target)));
        count(outcomes, 'connection');
        break;
      case 'web-socket':
        found.push(...(await openWebSocket(input, target)));
        count(outcomes, 'WebSocket');
        break;
      case 'request': {
        const outcome = await attempt(() => sendOn(input, number));
        if ('fault' in outcome) found.push(outcome.fault);
        else if ('lost' in outcome) {
          count(outcomes, outcome.lost);
          const fault = lostFaults[outcome.lost];
          if (fault !== undefined) found.push(fault);
        } else {
          count(outcomes, `${outcome.response.status}`);
          const fault = faultOf(input.request, outcome.response) ?? input.check?.(outcome.response);
          if (fault !== undefined) found.push(fault);
        }
        break;
      }
    }
    if (signal.aborted) return;
    for (const text of found) faults.push({ number, kind, text });
  };

  const attempt = async (sendOnce: () => Promise<Outcome>): Promise<Outcome> => {
    let outcome = await sendOnce();
    for (let attempts = 1; attempts < attemptsMax && 'lost' in outcome && !signal.aborted; attempts++) {
      if (isFinal(outcome.lost)) return outcome;
      outcome = await sendOnce();
    }
    return outcome;
  };

  const giveUp = (): void => all.forEach((lane) => void lane.close());
  signal.addEventListener('abort', giveUp);
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < numbers.length && !signal.aborted) {
        const number = numbers[next++] as number;
        underWay.add(number);
        await runOne(number);
        if (signal.aborted) return;
        underWay.delete(number);
        recent.push(number);
        if (recent.length > recentMax) recent.shift();
      }
    }),
  );
  signal.removeEventListener('abort', giveUp);
  await Promise.all(all.map((lane) => lane.close()));
  return { faults, kinds, outcomes, suspects: [...recent, ...underWay] };
}

/** Whether the loss cannot have been caused by another request. */
const isFinal = (lost: string): boolean => lost.startsWith('reset') || lost === 'session ended by a field';

const endsSession = ({ target, headers }: Request): boolean =>
  [target, ...headers.flat()].some((text) => text.length > fieldBytesMax);

const count = (counts: Record<string, number>, name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);

/** Describes an input precisely enough to repeat it. */
export function describeInput(seed: number, number: number, context: FuzzContext): string {
  const { kind, input } = inputAt(seed, number, context);
  const content =
    input.form === 'connection'
      ? describeCase(input.case)
      : input.form === 'web-socket'
        ? describeCase({
            kind,
            over: 'http/1.1',
            pieces: [input.opening, ...input.messages],
            end: 'shut',
            method: undefined,
          })
        : describeCase({ kind, over: input.over, request: input.request });
  return content.replaceAll(context.token, '<token>');
}
