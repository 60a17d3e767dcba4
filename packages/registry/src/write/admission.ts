import { type Call, inSpan, awaitValue, requireValue, trackLatency, type Task } from '@cluster-apiserver/base';
import type { Admission, AdmissionContext, Admitted, OperationOptions } from '@cluster-apiserver/gates';
import type { UserInfo } from '@cluster-apiserver/model';
import type { KubeObject, ServedKind, EncodableKind } from '@cluster-apiserver/model/kind';

/** The requester of a write, with the admission that it has to pass. Writes of the server itself have none. */
export interface Requester {
  readonly admission: Admission;
  readonly user: UserInfo;
  /** The subresource of the path. */
  readonly subresource: string | undefined;
  readonly options: OperationOptions;
  readonly call: Call;
  readonly warn: (text: string) => void;
  readonly annotate: (key: string, value: string) => void;
  /** For a PUT or apply that creates the object. Throws a StatusError unless the user may create it, too. */
  authorizeCreate(): void | Promise<void>;
}

export interface AdmissionOptions {
  readonly namespace: string | undefined;
  readonly dryRun: boolean;
  readonly requester?: Requester | undefined;
}

type Write = Pick<AdmissionContext, 'operation' | 'name' | 'object' | 'oldObject'>;

/** The resource of the path, and the kind of the object in the request. */
export interface AdmissionTarget {
  readonly served: ServedKind;
  readonly kind: EncodableKind;
}

/** Runs the mutating phase of admission. `requireMutated` unwraps its result, once it has settled. */
export function mutate(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  write: Write & { readonly object: KubeObject },
): ReturnType<Admission['mutate']> {
  const { requester } = options;
  return requester ? mutateTraced(requester, contextOf(admitted, options, requester, write)) : write.object;
}

export const requireMutated = (object: KubeObject | undefined): KubeObject =>
  requireValue(object, 'only a deletion is admitted without an object');

/** Runs the validating phase of admission. Throws a StatusError if it rejects the write. */
export function admit(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  write: Write,
): Admitted | Promise<Admitted> {
  const { requester } = options;
  return requester ? validateTraced(requester, contextOf(admitted, options, requester, write)) : unconditional;
}

/** The trace of a sampled request has a span for each phase, with the webhooks below it. */
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

/** Throws a StatusError if admission rejects the deletion. Mutating plugins receive it too, without an object. */
export function* admitDeletion(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  { name, oldObject }: Pick<Write, 'name' | 'oldObject'>,
): Task<void> {
  const { requester } = options;
  if (!requester) return;
  const context = contextOf(admitted, options, requester, { operation: 'DELETE', name, object: undefined, oldObject });
  yield* awaitValue(mutateTraced(requester, context));
  yield* awaitValue(validateTraced(requester, context));
}

/** Runs both phases for an object that is not stored. Preconditions do not apply, because there is no write. */
export async function runAdmission(
  admitted: AdmissionTarget,
  options: AdmissionOptions,
  given: KubeObject,
  name?: string,
): Promise<KubeObject> {
  const write = { operation: 'CREATE', name, oldObject: undefined } as const;
  const object = requireMutated(await mutate(admitted, options, { ...write, object: given }));
  await admit(admitted, options, { ...write, object });
  return object;
}

const trackAdmission = <Value>(call: Call, result: Value | Promise<Value>): Value | Promise<Value> =>
  trackLatency(call.latency, 'admission', result);

const unconditional: Admitted = { preconditions: [] };

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
