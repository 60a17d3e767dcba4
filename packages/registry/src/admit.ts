import { type Call, throwIfAborted } from '@cluster-apiserver/base';
import type { Admission, Attempt, Premise } from '@cluster-apiserver/gates';
import { type KubeObject, StatusError, type UserInfo } from '@cluster-apiserver/model';
import { PremiseBrokenError, type Revision } from '@cluster-apiserver/storage';
import type { Resource } from './resource.ts';

/** Who asks for a write, and whom that has to get past. What the server does by itself nobody asks for. */
export interface Asked {
  readonly admission: Admission;
  readonly user: UserInfo;
  /** The last segment of the path behind an object. */
  readonly subresource: string | undefined;
  readonly call: Call;
}

export interface Asking {
  readonly namespace: string | undefined;
  readonly dryRun: boolean;
  readonly asked?: Asked | undefined;
}

type Write = Pick<Attempt, 'operation' | 'name' | 'object' | 'oldObject'>;

/** The object as admission wants it written. */
export function admitted(
  resource: Resource,
  options: Asking,
  write: Write & { readonly object: KubeObject },
): KubeObject | Promise<KubeObject> {
  const { asked } = options;
  // Of what is written nothing is left only in a deletion.
  return asked
    ? (asked.admission.mutate(attempt(resource, options, asked, write)) as KubeObject | Promise<KubeObject>)
    : write.object;
}

/** Asks for leave to write. Throws the answer when it is refused. */
export function leaveFor(
  resource: Resource,
  options: Asking,
  write: Write,
): readonly Premise[] | Promise<readonly Premise[]> {
  const { asked } = options;
  return asked ? asked.admission.validate(attempt(resource, options, asked, write)) : none;
}

const none: readonly Premise[] = [];

function attempt({ served }: Resource, { namespace, dryRun }: Asking, asked: Asked, write: Write): Attempt {
  const { user, subresource, call } = asked;
  return { ...write, kind: served, namespace, dryRun, user, subresource, call };
}

/** Each try brings what others have written in between, so this is far beyond bad luck. */
const triesMax = 20;

/** Creates with leave, which is asked for again when what it rests on is no more. */
export async function createWithLeave(
  resource: Resource,
  object: KubeObject,
  options: Asking,
  call: Call,
  write: (premises: readonly Premise[]) => Promise<Revision>,
): Promise<Revision> {
  const { name } = object.metadata;
  for (let tries = 1; ; tries++) {
    throwIfAborted(call);
    const leave = leaveFor(resource, options, { operation: 'CREATE', name, object, oldObject: undefined });
    const premises = leave instanceof Promise ? await leave : leave;
    try {
      return await write(premises);
    } catch (error) {
      if (!(error instanceof PremiseBrokenError)) throw error;
      if (tries === triesMax)
        throw new StatusError(
          'ServiceUnavailable',
          'what the object needs is changed all the time; please try again',
          { retryAfterSeconds: 1 },
          { cause: error },
        );
      await resource.collection.reach(error.revision, call);
    }
  }
}
