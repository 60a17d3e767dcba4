import { defineKind, type Kind, type ObjectOf } from '@cluster-apiserver/model/kind';
import { boolean, field, list, localObjectReference, objectReference } from '@cluster-apiserver/model/schema';
import type { KindServices } from '../services.ts';
import { tokenRequest } from './token-request.ts';

const fields = {
  secrets: field(
    2,
    list(objectReference, { keys: ['name'] }),
    'Secrets in the same namespace that pods running as this service account may use. Not a place to find tokens for use elsewhere: request those directly.',
  ),
  imagePullSecrets: field(
    3,
    list(localObjectReference, 'atomic'),
    'Secrets in the same namespace for pulling the images of pods that run as this service account. They cannot be mounted.',
  ),
  automountServiceAccountToken: field(
    4,
    boolean,
    'Whether pods running as this service account get a token mounted. Can be overridden by the pod.',
    'given',
  ),
};

export type ServiceAccount = ObjectOf<typeof fields>;

/** An identity: a name that people know, a principal that can be authenticated, and the secrets that it may use. */
export const serviceAccount = ({ serviceAccountTokens }: KindServices): Kind =>
  defineKind({
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    singular: 'serviceaccount',
    shortNames: ['sa'],
    description:
      'Binds together a name for an identity, a principal that can be authenticated and authorized, and a set of secrets.',
    fields,
    deletedAnswer: 'object',
    deletedCollectionAnswer: 'status',
    subresources: serviceAccountTokens ? [tokenRequest(serviceAccountTokens)] : [],
    prepare: (account) => (account.secrets ? { ...account, secrets: account.secrets.map(nameOnly) } : account),
    warnings: (account, current) =>
      enforceMountableSecrets
        .filter(
          (name) =>
            account.metadata.annotations?.[name] !== undefined && current?.metadata.annotations?.[name] === undefined,
        )
        .map(
          (name) =>
            `metadata.annotations[${name}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
        ),
  });

/**
 * The secrets are those of the same namespace, so nothing but the name can mean anything. The rest is dropped without a
 * Warning: kube-apiserver sends none, as recorded conversations show.
 */
const nameOnly = ({ name }: { name?: string }): { name?: string } => (name === undefined ? {} : { name });

/** The annotation by its own name and by the one that clients of Kubernetes write. */
const enforceMountableSecrets = ['platform.io/enforce-mountable-secrets', 'kubernetes.io/enforce-mountable-secrets'];
