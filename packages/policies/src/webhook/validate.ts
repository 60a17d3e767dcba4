import { awaitValue, throwIfAborted, type Task } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { PolicyRequest } from '../request.ts';
import { callWebhook } from './call-webhook.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { type InvokeOptions, invokeWebhook, matchWebhook } from './invoke-webhook.ts';

interface Invocation {
  readonly webhook: CompiledWebhook;
  readonly matched: ServedKind;
}

/** Calls all webhooks that match at once, and throws the first denial in their order when all have answered. */
export function* validateByWebhooks(
  webhooks: readonly CompiledWebhook[],
  request: PolicyRequest,
  options: InvokeOptions,
): Task<void> {
  const invocations: Invocation[] = [];
  for (const webhook of webhooks) {
    const matched = yield* matchWebhook(webhook, request, options);
    if (matched) invocations.push({ webhook, matched });
  }
  if (invocations.length === 0) return;
  throwIfAborted(request.context.call);
  const denials = yield* awaitValue(
    Promise.all(invocations.map((invocation, index) => findDenial(invocation, index, request, options))),
  );
  for (const denial of denials) if (denial) throw denial;
}

async function findDenial(
  { webhook, matched }: Invocation,
  index: number,
  request: PolicyRequest,
  options: InvokeOptions,
): Promise<StatusError | undefined> {
  const failedOpenKey = `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`;
  try {
    await invokeWebhook(webhook, request.context, failedOpenKey, options, () =>
      callWebhook(webhook, matched, request, { isMutating: false }, options),
    );
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}
