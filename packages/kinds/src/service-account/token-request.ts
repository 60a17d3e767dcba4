import { getOwn } from '@cluster-apiserver/base';
import { badRequest, conflict, formatTime, invalid, notFound, Problems } from '@cluster-apiserver/model';
import { numberOf } from '@cluster-apiserver/model/json';
import {
  defineSubresource,
  type KubeObject,
  type Subresource,
  type SubresourceReports,
  type ObjectOf,
} from '@cluster-apiserver/model/kind';
import { field, int64, list, object, publicationOf, string, time, type ValueOf } from '@cluster-apiserver/model/schema';
import type { ServiceAccountTokens } from '../services.ts';

const authentication = { group: 'authentication.k8s.io', version: 'v1' };
const tokenRequestNames = { ...authentication, kind: 'TokenRequest' };

const boundObjectReference = object(
  {
    kind: field(1, string, 'Kind of the object: Pod, Secret or Node.'),
    apiVersion: field(2, string, 'API version of the object.'),
    name: field(3, string, 'Name of the object.'),
    uid: field(4, string, 'UID of the object.'),
  },
  {
    publication: publicationOf(
      { ...authentication, kind: 'BoundObjectReference' },
      'Names an object that a token is bound to.',
    ),
  },
);

type BoundObjectReference = ValueOf<typeof boundObjectReference>;

const spec = object(
  {
    audiences: field(
      1,
      list(string, 'atomic'),
      'Intended audiences. A recipient must reject the token unless it is one of them. Defaults to the API server.',
      'always',
    ),
    expirationSeconds: field(4, int64, 'Requested lifetime in seconds. The response has the actual one.', 'given'),
    boundObjectRef: field(
      3,
      boundObjectReference,
      'Object that the token is bound to: the token is valid only while the object exists.',
      'given',
    ),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenRequestSpec' }, 'Properties of the requested token.', [
      'audiences',
    ]),
  },
);

const status = object(
  {
    token: field(1, string, 'The token.', 'always'),
    expirationTimestamp: field(2, time, 'Time at which the token expires.', 'always'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenRequestStatus' }, 'The issued token.', [
      'token',
      'expirationTimestamp',
    ]),
  },
);

const fields = {
  spec: field(2, spec, 'Properties of the requested token.', 'always'),
  status: field(3, status, 'Filled by the server.', 'always'),
};

export type TokenRequest = ObjectOf<typeof fields>;

/** Issues a token for the service account. */
export const tokenRequest = (tokens: ServiceAccountTokens): Subresource =>
  defineSubresource({
    name: 'token',
    ...tokenRequestNames,
    description: 'Requests a token for a service account.',
    fields,
    requiredFields: ['spec'],
    create: (account, request, reports) => issued(tokens, account, request, reports),
  });

/** Tells which requests a leaked token was used for: their users have the same ID as `credential-id`. */
const issuedCredentialIdKey = 'authentication.kubernetes.io/issued-credential-id';

const lifetimeSecondsFallback = 3600;
const lifetimeSecondsLeast = 600;
const lifetimeSecondsMost = 2 ** 32;

async function issued(
  tokens: ServiceAccountTokens,
  { metadata }: KubeObject,
  request: TokenRequest,
  { find, dryRun, warn, annotate }: SubresourceReports,
): Promise<TokenRequest> {
  const { audiences: asked, boundObjectRef } = request.spec;
  requireUid(request, metadata);
  const lifetime = requestedLifetime(request);
  const secret = boundObjectRef && (await findBound(boundObjectRef, find));
  const lifetimeSeconds = Math.min(lifetime, tokens.lifetimeSecondsMax ?? lifetime);
  if (lifetimeSeconds < lifetime)
    warn(`requested expiration of ${lifetime} seconds shortened to ${lifetimeSeconds} seconds`);
  const audiences = asked.length > 0 ? asked : tokens.audiences;
  const { namespace = '', name = '', uid = '' } = metadata; // a stored object has all of them
  const account = { namespace, name, uid };
  const { token, issuedAtMs, credentialId } = await tokens.issue(account, { audiences, lifetimeSeconds, secret });
  if (!dryRun) annotate(issuedCredentialIdKey, credentialId);
  return {
    ...request,
    metadata: { ...request.metadata, creationTimestamp: formatTime(issuedAtMs) },
    spec: { audiences: [...audiences], expirationSeconds: lifetimeSeconds },
    // kube-apiserver returns a valid token for a dry run, too.
    status: { token: dryRun ? '' : token, expirationTimestamp: formatTime(issuedAtMs + lifetimeSeconds * 1000) },
  };
}

/** A UID in the request is a precondition: the account must not have been recreated since. */
function requireUid({ metadata: { uid: requested } }: TokenRequest, { name = '', uid }: KubeObject['metadata']): void {
  if (!requested || requested === uid) return;
  throw conflict(
    { ...tokenRequestNames, plural: tokenRequestNames.kind },
    name,
    `the UID in the token request (${requested}) does not match the UID of the service account (${uid})`,
  );
}

function requestedLifetime({ spec: { expirationSeconds = lifetimeSecondsFallback } }: TokenRequest): number {
  const seconds = numberOf(expirationSeconds);
  const problem =
    seconds < lifetimeSecondsLeast
      ? 'may not specify a duration less than 10 minutes'
      : seconds > lifetimeSecondsMost
        ? 'may not specify a duration larger than 2^32 seconds'
        : undefined;
  if (problem === undefined) return seconds;
  const place = new Problems().at('spec', 'expirationSeconds');
  throw invalid(tokenRequestNames, '', place.invalid(expirationSeconds, problem));
}

/** Kinds that a token may be bound to in Kubernetes. Of these only secrets are served. */
const bindable: Readonly<Record<string, string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' };

/** The secret that a token shall be bound to. A UID in the request is a precondition. */
async function findBound(
  { kind = '', apiVersion = '', name = '', uid: requested }: BoundObjectReference,
  find: SubresourceReports['find'],
): Promise<{ readonly name: string; readonly uid: string }> {
  const plural = apiVersion.includes('/') ? undefined : getOwn(bindable, kind);
  if (!plural) {
    const type = `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
    throw badRequest(`cannot bind token to object of type ${type}`);
  }
  if (name === '') throw badRequest('Name parameter required.');
  const { uid } = (kind === 'Secret' && (await find(kind, name))) || {};
  if (uid === undefined) throw notFound({ group: '', kind, plural }, name);
  if (requested && requested !== uid)
    throw conflict(
      { group: '', kind, plural: kind },
      name,
      `the UID in the bound object reference (${requested}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { name, uid };
}
