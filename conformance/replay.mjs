// Replays one case: sends its requests and compares the responses.
import { setTimeout as sleep } from 'node:timers/promises';
import { comparableResponse, Marks, parseBody, pick } from './comparable.mjs';
import { findDifferences, findUnmet } from './differences.mjs';
import { removeAt, valueAt } from './pointers.mjs';
import { fillIn } from './variables.mjs';

/** A case that has failed does not wait for what will not come. */
const untilAfterFailureMs = 300;
const watchMaxMs = 30_000;
const pollMs = 20;

/**
 * Returns the problems of a case. With `isRecording` it stores the responses in the steps instead of comparing them.
 * @param {{ steps: readonly any[] }} recorded
 * @param {{ client: any, isRecording?: boolean, isVerbose?: boolean }} options
 */
export async function replay({ steps }, options) {
  const run = new Replay(options);
  for (const [index, step] of steps.entries()) {
    const title = `step ${index + 1}${step.title ? ` (${step.title})` : ''}`;
    await run.step(step, title);
  }
  run.close();
  return run.problems;
}

class Replay {
  problems = [];
  /** After a step that could not be carried out, only steps that tidy up are. */
  #isBroken = false;
  #watches = new Map();
  #variables;
  #marks;
  #client;
  #isRecording;
  #isVerbose;

  constructor({ client, isRecording = false, isVerbose = false }) {
    this.#client = client;
    this.#isRecording = isRecording;
    this.#isVerbose = isVerbose;
    const suffix = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
    const namespaces = [`conf-a-${suffix}`, `conf-b-${suffix}`, `conf-c-${suffix}`];
    const [ns, ns2, ns3] = namespaces;
    this.#variables = { ns, ns2, ns3, suffix };
    this.#marks = new Marks(namespaces, suffix);
  }

  async step(step, title) {
    if (this.#isBroken && !step.always) return;
    try {
      const actual = await this.#carryOut(step, title);
      if (actual === undefined) return;
      if (this.#isRecording) step.expect = actual;
      else if (step.expect) this.#compare(step, title, actual);
    } catch (error) {
      this.problems.push(`${title}: ${error.message}`);
      this.#isBroken = true;
    }
  }

  close() {
    for (const watch of this.#watches.values()) watch.abort.abort();
  }

  /** Returns what the step compares, if anything. */
  async #carryOut(step, title) {
    if (step.request && !step.open) return this.#request(step, title);
    if (step.collect) return this.#collect(step, title);
    if (step.open) await this.#openWatch(step);
    else if (step.repeat) await this.#repeat(step.repeat);
    else await sleep(step.sleepMs);
    return undefined;
  }

  #fill = (value) => fillIn(value, this.#variables);

  async #repeat({ times, pad = 3, request }) {
    for (let index = 0; index < times; index++) {
      this.#variables.i = String(index).padStart(pad, '0');
      const { status, text } = await this.#client.send(this.#fill(request));
      if (status >= 300) throw new Error(`repetition ${index}: HTTP ${status} ${text.slice(0, 200)}`);
    }
  }

  async #openWatch({ open, request, settleMs = 150 }) {
    const watch = { events: [], abort: new AbortController(), response: undefined, error: undefined };
    const hasBookmarks = /[?&]allowWatchBookmarks=/.test(request.path);
    const onLine = (line) => {
      const event = parseEvent(line);
      // A server decides itself when it sends the other bookmarks.
      const isOptional = hasBookmarks && event.type === 'BOOKMARK' && !line.includes('initial-events-end');
      if (!isOptional) watch.events.push(event);
    };
    this.#client.send({ ...this.#fill(request), timeoutMs: watchMaxMs }, { onLine, signal: watch.abort.signal }).then(
      (response) => (watch.response = response),
      (error) => (watch.error = error),
    );
    this.#watches.set(open, watch);
    await sleep(settleMs);
  }

  /** What an open watch has delivered. */
  async #collect(step, title) {
    const watch = this.#watches.get(step.collect);
    const { count, ended, withinMs = 3_000, quietMs = 150 } = step;
    const endMs = Date.now() + withinMs;
    const isOver = () => watch.response !== undefined || watch.error !== undefined;
    while ((ended || watch.events.length < count) && !isOver() && Date.now() < endMs) await sleep(pollMs);
    if (watch.response === undefined) await sleep(quietMs); // events too many would come now
    if (watch.error !== undefined) throw watch.error;
    const events = watch.events.splice(0);
    if (step.sortItems) events.sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
    this.#keep(step, title, events, '');
    if (step.close) watch.abort.abort();
    if (watch.response !== undefined && watch.response.status !== 200) {
      return comparableResponse(watch.response, this.#marks, step);
    }
    const marked = step.pick ? pick(events, step.pick, this.#marks) : events.map((event) => this.#marks.value(event));
    for (const pointer of step.ignore ?? []) removeAt(marked, pointer);
    return { events: marked, ...(ended && { ended: watch.response !== undefined }) };
  }

  async #request(step, title) {
    const request = this.#fill(step.request);
    const response = step.until
      ? await this.#client.sendUntil(request, { ...this.#fill(step.until), ...this.#shortWait() })
      : await this.#client.send(request);
    const { status, text } = response;
    this.#keep(step, title, parseBody(response), ` (HTTP ${status} ${text.slice(0, 200)})`);
    for (const pattern of step.matches ?? []) {
      if (!new RegExp(pattern, 'm').test(text)) this.problems.push(`${title}: the response does not match ${pattern}`);
    }
    return comparableResponse(response, this.#marks, step);
  }

  #shortWait() {
    return this.problems.length > 0 ? { withinMs: untilAfterFailureMs } : {};
  }

  /** Saves values for later steps, and checks what must hold against earlier ones. */
  #keep({ save = {}, check = [] }, title, body, hint) {
    for (const [name, pointer] of Object.entries(save)) {
      const value = valueAt(body, pointer);
      if (value === undefined) this.problems.push(`${title}: nothing to save at ${pointer}${hint}`);
      this.#variables[name] = String(value);
    }
    this.problems.push(...findUnmet(body, check, this.#fill).map((problem) => `${title}: ${problem}`));
  }

  #compare(step, title, actual) {
    const differences = findDifferences(step.expect, actual, step, this.#marks);
    if (differences.length === 0) return;
    const what = step.collect ? `watch ${step.collect}` : `${step.request.method ?? 'GET'} ${step.request.path}`;
    const shown = this.#isVerbose ? differences : differences.slice(0, 6);
    this.problems.push(`${title}: ${what}\n      ${shown.join('\n      ')}`);
    if (this.#isVerbose) this.problems.push(`  response: ${JSON.stringify(actual).slice(0, 2_000)}`);
  }
}

function parseEvent(line) {
  try {
    return JSON.parse(line);
  } catch {
    return { 'not JSON': line.slice(0, 200) };
  }
}

const sortKey = ({ type, object }) => JSON.stringify([type, object?.metadata?.namespace, object?.metadata?.name]);
