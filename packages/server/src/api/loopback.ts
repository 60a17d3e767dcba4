import { asError, type Call, type Random } from '@cluster-apiserver/base';
import type { createAuditor } from '@cluster-apiserver/audit';
import { type Admission, serverUser as user } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { bytesOf } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { create, type Outcome, type Resource } from '@cluster-apiserver/registry';

/** Requests that the server makes to itself: admission decides on them, and they have audit events, as those of clients. */
export interface Loopback {
  readonly create: (resource: Resource, object: KubeObject, call: Call) => Promise<Outcome>;
}

export interface LoopbackOptions {
  readonly admission: Admission;
  readonly auditor: ReturnType<typeof createAuditor> | undefined;
  readonly random: Random;
  /** Of the audit events. */
  readonly userAgent: string;
}

const address = '::1';
/** Field manager of the objects. */
const manager = 'apiserver';

export const createLoopback = ({ admission, auditor, random, userAgent }: LoopbackOptions): Loopback => ({
  create: async (resource, object, call) => {
    const { group, version, plural } = resource.served;
    const { namespace } = object.metadata;
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const path = `/${group === '' ? 'api' : `apis/${group}`}/${version}${within}/${plural}`;
    const recorder = auditor?.begin(
      {
        auditId: random.uuid(),
        request: {
          target: path,
          remoteAddress: address,
          header: (name) => (name === 'user-agent' ? userAgent : undefined),
          onEnd: () => {}, // only watches and streamed responses have one
        },
        info: {
          verb: 'create',
          path,
          resource: { group, version, plural, namespace, subresource: undefined },
        },
      },
      undefined,
    );
    await recorder?.logRequestReceived(user);
    recorder?.annotate('authorization.k8s.io/decision', 'allow');
    recorder?.annotate('authorization.k8s.io/reason', '');
    recorder?.logRequestObject(object, JSON.stringify(object).length);
    const requester = {
      admission,
      user,
      subresource: undefined,
      options: { kind: 'CreateOptions' },
      call,
      warn: () => {},
      annotate: (key: string, value: string) => recorder?.annotate(key, value),
      authorizeCreate: () => {},
    } as const;
    try {
      const options = { namespace, dryRun: false, manager, requester, warn: () => {} };
      const outcome = await create(resource, object, options, call);
      recorder?.logResponseObject([bytesOf(outcome.json).toString()], outcome.json.length);
      await recorder?.logResponse(201, false);
      return outcome;
    } catch (error) {
      const refusal =
        error instanceof StatusError
          ? error
          : new StatusError('InternalError', 'Internal error occurred', undefined, { cause: asError(error) });
      await recorder?.logFailure(refusal, refusal !== error);
      throw error;
    }
  },
});
