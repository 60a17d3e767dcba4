import { invariant } from '@cluster-apiserver/base';
import type {
  CertificateSigningRequest,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  ConfigMap,
  FlowSchema,
  Namespace,
  PriorityLevelConfiguration,
  ResourceQuota,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
  ValidatingAdmissionPolicy,
} from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';

/** The types of the objects that controllers look into, by the names of their kinds. */
interface ObjectsByKind {
  readonly CertificateSigningRequest: CertificateSigningRequest;
  readonly ClusterRole: ClusterRole;
  readonly ClusterRoleBinding: ClusterRoleBinding;
  readonly CustomResourceDefinition: CustomResourceDefinition;
  readonly ConfigMap: ConfigMap;
  readonly FlowSchema: FlowSchema;
  readonly Namespace: Namespace;
  readonly PriorityLevelConfiguration: PriorityLevelConfiguration;
  readonly ResourceQuota: ResourceQuota;
  readonly Role: Role;
  readonly RoleBinding: RoleBinding;
  readonly Secret: Secret;
  readonly ServiceAccount: ServiceAccount;
  readonly ValidatingAdmissionPolicy: ValidatingAdmissionPolicy;
}

/** Stored objects were decoded by the schema of their kind, so the name of the kind determines their type. */
const isOfKind = <K extends keyof ObjectsByKind>(object: KubeObject, kind: K): object is ObjectsByKind[K] =>
  object.kind === kind;

/** A stored object with the type that its kind declares. */
export function requireKind<K extends keyof ObjectsByKind>(object: KubeObject, kind: K): ObjectsByKind[K] {
  invariant(isOfKind(object, kind), `an object of ${kind} is of another kind`);
  return object;
}
