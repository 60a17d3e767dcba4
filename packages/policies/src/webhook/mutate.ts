import { type Call, type Clock, runTask, awaitValue, type Task } from '@cluster-apiserver/base';
import { parseAnswer } from '@cluster-apiserver/gates';
import { MalformedTextError, sameJson, TooManyValuesError } from '@cluster-apiserver/model/json';
import type { KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import {
  type JsonPatch,
  PatchFailedError,
  PatchFormError,
  readJsonPatch,
  TooManyOperationsError,
} from '@cluster-apiserver/model/patch';
import { WrongTypeError } from '@cluster-apiserver/model/schema';
import type { PolicyRequest } from '../request.ts';
import { callWebhook } from './call-webhook.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { createInternalError, WebhookCallError } from './errors.ts';
import { type InvokeOptions, invokeWebhook, matchWebhook } from './invoke-webhook.ts';

/** The state of the first round of a write, for its second round. */
class Rounds {
  /** Webhooks that will be called again if the object changes from now on. */
  #waiting = new Set<string>();
  readonly #due = new Set<string>();
  /** The object after the first round. */
  object: KubeObject | undefined;

  called({ key, isReinvocable }: CompiledWebhook): void {
    if (isReinvocable) this.#waiting.add(key);
  }

  changed(): void {
    for (const key of this.#waiting) this.#due.add(key);
    this.#waiting = new Set();
  }

  isDue({ key }: CompiledWebhook): boolean {
    return this.#due.has(key);
  }
}

/** Calls the matching webhooks one after the other, each with the object as the previous ones have changed it. */
export class MutatingWebhooks {
  readonly #options: InvokeOptions;
  /** By the call of the request, which mutates one object at a time. */
  readonly #rounds = new WeakMap<Call, Rounds>();

  constructor(options: InvokeOptions) {
    this.#options = options;
  }

  /**
   * The object as the webhooks have changed it, the same one if none has; undefined in a deletion. Throws a denial. Audit
   * annotations number the webhooks by their place among all, as in kube-apiserver.
   */
  *mutate(
    candidates: readonly CompiledWebhook[],
    all: readonly CompiledWebhook[],
    request: PolicyRequest,
  ): Task<KubeObject | undefined> {
    const { call, reinvocation } = request.context;
    const rounds = (reinvocation ? this.#rounds.get(call) : undefined) ?? new Rounds();
    let now = request;
    if (reinvocation && !sameJson(rounds.object, now.context.object)) rounds.changed();
    for (const webhook of candidates) {
      if (reinvocation && !rounds.isDue(webhook)) continue;
      const matched = yield* matchWebhook(webhook, now, this.#options);
      if (!matched) continue;
      const before = now;
      const object = yield* awaitValue(this.#invoke(webhook, all.indexOf(webhook), matched, before));
      if (object !== undefined && object !== before.context.object) {
        now = before.withObject(object);
        rounds.changed();
      }
      rounds.called(webhook);
    }
    rounds.object = now.context.object;
    // Deletions have no second round, and those of a collection share a call.
    if (now.context.object && !reinvocation) this.#rounds.set(call, rounds);
    return now.context.object;
  }

  /** The object after one webhook; undefined if there is none, or the webhook failed and that is ignored. */
  #invoke(
    webhook: CompiledWebhook,
    index: number,
    matched: ServedKind,
    request: PolicyRequest,
  ): Promise<KubeObject | undefined> {
    const { context } = request;
    const at = `mutation.webhook.admission.k8s.io/round_${context.reinvocation ? 1 : 0}_index_${index}`;
    let mutated = false;
    const work = async (): Promise<KubeObject | undefined> => {
      const response = await callWebhook(webhook, matched, request, { isMutating: true }, this.#options);
      const before = context.object;
      if (response.patch.length === 0) return before;
      const patch = await readPatch(response.patch, this.#options.clock);
      if (patch.operations.length === 0) return before;
      if (!before)
        throw createInternalError(
          `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
        );
      const patched = await runTask(this.#options.clock, context.call, applyPatch(patch, matched, request));
      mutated = !sameJson(patched, before);
      return mutated ? patched : before;
    };
    const { name, configuration } = webhook;
    return invokeWebhook(webhook, context, `failed-open.${at}`, this.#options, work).finally(() =>
      context.annotate(at, JSON.stringify({ configuration, webhook: name, mutated })),
    );
  }
}

async function readPatch(text: Buffer, clock: Clock): Promise<JsonPatch> {
  try {
    return readJsonPatch(await parseAnswer(text.toString(), clock));
  } catch (cause) {
    if (
      cause instanceof MalformedTextError ||
      cause instanceof TooManyValuesError ||
      cause instanceof PatchFormError ||
      cause instanceof TooManyOperationsError
    )
      throw new WebhookCallError(`received undecodable patch in webhook response: ${cause.message}`, { cause });
    throw cause;
  }
}

/** Applies the patch to the object as it was sent. If that fails the write is rejected, whatever the failure policy. */
function* applyPatch(patch: JsonPatch, matched: ServedKind, request: PolicyRequest): Task<KubeObject> {
  try {
    return yield* request.applyPatch(matched, patch);
  } catch (error) {
    if (error instanceof PatchFailedError) throw createInternalError(`JSON Patch: ${error.message}`);
    if (error instanceof WrongTypeError) throw createInternalError(`the patched object is invalid: ${error.message}`);
    throw error;
  }
}
