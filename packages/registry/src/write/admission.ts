import { type Call, inSpan, resultOf, trackLatency, type Work } from '@cluster-apiserver/base';
import type { Admission, AdmissionContext, OperationOptions, Precondition } from '@cluster-apiserver/gates';
import type { KubeObject, ServedKind, EncodableKind, UserInfo } from '@cluster-apiserver/model';

/** Who sends a write, and what that has to get past. What the server does by itself has no requester. */
export interface Requester {
  readonly admission: Admission;
  readonly user: UserInfo;
  /** The last segment of the path behind an object. */
  readonly subresource: string | undefined;
  readonly options: OperationOptions;
  readonly call: Call;
  warn(text: string): void;
  annotate(key: string, value: string): void;
  /** For a create by another verb. Throws the answer unless the user may create the object of the path, too. */
  authorizeCreate(): void | Promise<void>;
}

export interface AdmissionOptions {
  readonly namespace: string | undefined;
  readonly dryRun: boolean;
  readonly requester?: Requester | undefined;
}

type Write = Pick<AdmissionContext, 'operation' | 'name' | 'object' | 'oldObject'>;

/** What is admitted: the resource of the path, and the kind in whose form the object is. */
export interface AdmissionTarget {
  readonly served: ServedKind;
  readonly kind: EncodableKind;
}

/** The object as admission wants it written. */
export function mutate(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  write: Write & { readonly object: KubeObject },
): KubeObject | Promise<KubeObject> {
  const { requester } = options;
  // Only in a deletion there is no object.
  return requester
    ? (mutateTraced(requester, contextOf(admitted, options, requester, write)) as KubeObject | Promise<KubeObject>)
    : write.object;
}

/** Throws the answer when admission refuses the write. */
export function admit(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  write: Write,
): readonly Precondition[] | Promise<readonly Precondition[]> {
  const { requester } = options;
  return requester ? validateTraced(requester, contextOf(admitted, options, requester, write)) : none;
}

/** Both phases show in the trace of a sampled request, and webhooks below them. */
const mutateTraced = ({ admission }: Requester, context: AdmissionContext): ReturnType<Admission['mutate']> =>
  trackAdmission(
    context.call,
    context.call.trace
      ? inSpan(context.call, 'mutating admission', (call) => admission.mutate({ ...context, call }))
      : admission.mutate(context),
  );

const validateTraced = ({ admission }: Requester, context: AdmissionContext): ReturnType<Admission['validate']> =>
  trackAdmission(
    context.call,
    context.call.trace
      ? inSpan(context.call, 'validating admission', (call) => admission.validate({ ...context, call }))
      : admission.validate(context),
  );

/** Throws the answer when admission refuses the deletion. Mutating plugins receive it too, though there is no object. */
export function* admitDeletion(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  { name, oldObject }: Pick<Write, 'name' | 'oldObject'>,
): Work<void> {
  const { requester } = options;
  if (!requester) return;
  const context = contextOf(admitted, options, requester, { operation: 'DELETE', name, object: undefined, oldObject });
  yield* resultOf(mutateTraced(requester, context));
  yield* resultOf(validateTraced(requester, context));
}

/** What is answered and never stored, as admission wants it. It relies on nothing: there is no write to refuse later. */
export async function runAdmission(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  given: KubeObject,
  name?: string,
): Promise<KubeObject> {
  const write = { operation: 'CREATE', name, oldObject: undefined } as const;
  const object = await mutate(admitted, options, { ...write, object: given });
  await admit(admitted, options, { ...write, object });
  return object;
}

const trackAdmission = <Result>(call: Call, result: Result): Result => trackLatency(call.latency, 'admission', result);

const none: readonly Precondition[] = [];

const contextOf = (
  { served, kind }: AdmissionTarget,
  { namespace, dryRun }: AdmissionOptions,
  { user, subresource, options, call, warn, annotate }: Requester,
  { operation, name, object, oldObject }: Write,
): AdmissionContext => ({
  operation,
  resource: served,
  subresource,
  kind,
  namespace,
  name,
  object,
  oldObject,
  user,
  dryRun,
  options,
  call,
  reinvocation: false,
  warn,
  annotate,
});
