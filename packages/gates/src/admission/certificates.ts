import { readCertificateRequest } from '@cluster-apiserver/certificates';
import { decisionNotReady, forbiddenResource, type StatusError } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type AdmissionContext, type AdmissionPlugin, nameOf } from './admission.ts';

/** Requests for certificates: who may ask a signer for what, who may approve, and who may sign. */

interface CertificateSigningRequest extends KubeObject {
  readonly spec: { readonly request?: string | null; readonly signerName: string };
  readonly status: { readonly conditions?: readonly object[]; readonly certificate?: string };
}

const group = 'certificates.k8s.io';

const isRequest = ({ resource }: AdmissionContext): boolean =>
  resource.group === group && resource.plural === 'certificatesigningrequests';

/** Approving or denying needs the right to `approve` for the signer. */
export const createCertificateApproval = (authorizer: Authorizer): AdmissionPlugin => ({
  name: 'CertificateApproval',
  validate: (context) => {
    if (!isRequest(context) || context.subresource !== 'approval' || !context.oldObject) return undefined;
    return requireRight(context, authorizer, 'approve', asRequest(context.oldObject).spec.signerName);
  },
});

/** A certificate or a condition of the status needs the right to `sign` for the signer. */
export const createCertificateSigning = (authorizer: Authorizer): AdmissionPlugin => ({
  name: 'CertificateSigning',
  validate: (context) => {
    const { object, oldObject, subresource } = context;
    if (!isRequest(context) || subresource !== 'status' || !object || !oldObject) return undefined;
    const [after, before] = [asRequest(object), asRequest(oldObject)];
    if (sameJson(after.status, before.status)) return undefined;
    return requireRight(context, authorizer, 'sign', before.spec.signerName);
  },
});

const clientSigner = 'kubernetes.io/kube-apiserver-client';
const organization = '2.5.4.10';

/** No certificate for clients makes its holder an administrator whom nothing can restrict. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate: (context) => {
    const { object, operation, subresource } = context;
    if (!isRequest(context) || operation !== 'CREATE' || subresource !== undefined || !object) return undefined;
    const { signerName, request } = asRequest(object).spec;
    if (signerName !== clientSigner) return undefined;
    // Validation has accepted it, so it can be read.
    const pem = (decodeBase64(request ?? '') ?? Buffer.alloc(0)).toString('latin1');
    if (readCertificateRequest(pem).subject(organization).includes('system:masters'))
      throw forbidden(context, `use of ${clientSigner} signer with system:masters group is not allowed`);
    return undefined;
  },
};

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- admission sees objects that their kind has decoded
const asRequest = (object: KubeObject): CertificateSigningRequest => object as CertificateSigningRequest;

/** The right may be granted for the signer, or for all signers of its domain. */
async function requireRight(
  context: AdmissionContext,
  authorizer: Authorizer,
  verb: 'approve' | 'sign',
  signerName: string,
): Promise<undefined> {
  const names = [signerName, `${signerName.slice(0, signerName.indexOf('/'))}/*`];
  for (const name of names) {
    const decision = await authorizer.authorize(
      {
        user: context.user,
        verb,
        path: '',
        resource: { group, version: '*', resource: 'signers', subresource: undefined, namespace: undefined, name },
      },
      context.call,
    );
    if (decision.verdict === 'allow') return;
    if (decision.verdict === 'notReady') throw decisionNotReady();
  }
  throw forbidden(context, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`);
}

const forbidden = (context: AdmissionContext, reason: string): StatusError =>
  forbiddenResource(context.resource, nameOf(context), reason);
