import {
  field,
  int64,
  list,
  object,
  objectMeta,
  publicationOf,
  string,
  type Subresource,
  time,
  typeMeta,
} from '@cluster-apiserver/model';

const authentication = { group: 'authentication.k8s.io', version: 'v1' };

const boundObjectReference = object(
  {
    kind: field(string, 'Kind of the object: Pod, Secret or Node.'),
    apiVersion: field(string, 'API version of the object.'),
    name: field(string, 'Name of the object.'),
    uid: field(string, 'UID of the object.'),
  },
  {
    publication: publicationOf(
      { ...authentication, kind: 'BoundObjectReference' },
      'Names an object that a token is bound to.',
    ),
    numbers: { kind: 1, apiVersion: 2, name: 3, uid: 4 },
  },
);

const spec = object(
  {
    audiences: field(
      list(string, 'atomic'),
      'Who the token is for. Whoever takes it must find itself among them. Empty means this API server.',
      'always',
    ),
    expirationSeconds: field(int64, 'How long the token should live. The answer says how long it will.', 'given'),
    boundObjectRef: field(boundObjectReference, 'The token is worth nothing once this object is gone.', 'given'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenRequestSpec' }, 'What a token is asked for.', [
      'audiences',
    ]),
    numbers: { audiences: 1, boundObjectRef: 3, expirationSeconds: 4 },
  },
);

const status = object(
  {
    token: field(string, 'The token.', 'always'),
    expirationTimestamp: field(time, 'When it stops being accepted.', 'always'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenRequestStatus' }, 'The token that was asked for.', [
      'token',
      'expirationTimestamp',
    ]),
    numbers: { token: 1, expirationTimestamp: 2 },
  },
);

/** Asks for a token with which to act as the service account. */
export const tokenRequest: Subresource = {
  name: 'token',
  ...authentication,
  kind: 'TokenRequest',
  verbs: ['create'],
  schema: object(
    {
      ...typeMeta,
      metadata: field(objectMeta, 'Standard object metadata.', 'always'),
      spec: field(spec, 'What is asked for.', 'always'),
      status: field(status, 'Filled by the server.', 'always'),
    },
    {
      publication: publicationOf(
        { ...authentication, kind: 'TokenRequest' },
        'Asks for a token of a service account.',
        ['spec'],
      ),
      numbers: { metadata: 1, spec: 2, status: 3 },
    },
  ),
};
