import {
  badRequest,
  boolean,
  defineReview,
  field,
  type KubeObject,
  list,
  object,
  publicationOf,
  type Review,
  string,
} from '@cluster-apiserver/model';
import type { ReviewServices } from './services.ts';
import { authentication, type WrittenUserInfo, userInfo, userInfoOf } from './user-info.ts';

interface TokenReview extends KubeObject {
  spec: { token?: string; audiences?: readonly string[] };
  status: { authenticated?: boolean; user?: WrittenUserInfo; audiences?: readonly string[]; error?: string };
}

const spec = object(
  {
    token: field(string, 'The token.'),
    audiences: field(
      list(string, 'atomic'),
      'Accepted audiences: the token must be for at least one of them. Defaults to those of the API server.',
    ),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenReviewSpec' }, 'Token to authenticate.'),
    numbers: { token: 1, audiences: 2 },
  },
);

const status = object(
  {
    authenticated: field(boolean, 'True if the token is authenticated.'),
    user: field(userInfo, 'The user.', 'always'),
    audiences: field(
      list(string, 'atomic'),
      'Audiences that both the token and the request name. Clients that set spec.audiences must check them.',
    ),
    error: field(string, 'Why the token was not authenticated.'),
  },
  {
    publication: publicationOf(
      { ...authentication, kind: 'TokenReviewStatus' },
      'Result of the authentication of a token.',
    ),
    numbers: { authenticated: 1, user: 2, error: 3, audiences: 4 },
  },
);

/** Whose is this token? What others ask who trust the users of this cluster. */
export const tokenReview = ({ authenticateToken }: ReviewServices): Review =>
  defineReview<TokenReview>({
    ...authentication,
    kind: 'TokenReview',
    plural: 'tokenreviews',
    singular: 'tokenreview',
    namespaced: false,
    description: 'Authenticates a token.',
    fields: {
      spec: field(spec, 'Token to authenticate.', 'always'),
      status: field(status, 'Filled by the server.', 'always'),
    },
    numbers: { spec: 2, status: 3 },
    requiredFields: ['spec'],
    answer: async (review, _, call) => {
      const { token = '', audiences = [] } = review.spec;
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      const found = await authenticateToken(token, audiences, call);
      if (!found.user) return { ...review, status: { error: found.error } };
      return {
        ...review,
        status: { authenticated: true, user: userInfoOf(found.user), audiences: found.audiences },
      };
    },
  });
