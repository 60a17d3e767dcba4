import { badRequest } from '@cluster-apiserver/model';
import { defineReview, type Review } from '@cluster-apiserver/model/kind';
import { boolean, field, list, object, publicationOf, string } from '@cluster-apiserver/model/schema';
import type { ReviewServices } from './services.ts';
import { authentication, userInfo, userInfoOf } from './user-info.ts';

const spec = object(
  {
    token: field(1, string, 'The token.'),
    audiences: field(
      2,
      list(string, 'atomic'),
      'Accepted audiences: the token must be for at least one of them. Defaults to those of the API server.',
    ),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'TokenReviewSpec' }, 'Token to authenticate.'),
  },
);

const status = object(
  {
    authenticated: field(1, boolean, 'True if the token is authenticated.'),
    user: field(2, userInfo, 'The user.', 'always'),
    audiences: field(
      4,
      list(string, 'atomic'),
      'Audiences that both the token and the request name. Clients that set spec.audiences must check them.',
    ),
    error: field(3, string, 'Reason why the token was not authenticated.'),
  },
  {
    publication: publicationOf(
      { ...authentication, kind: 'TokenReviewStatus' },
      'Result of the authentication of a token.',
    ),
  },
);

const fields = {
  spec: field(2, spec, 'Token to authenticate.', 'always'),
  status: field(3, status, 'Filled by the server.', 'always'),
};

/** Authenticates a token, for other services that trust the users of this cluster. */
export const tokenReview = ({ authenticateToken }: ReviewServices): Review =>
  defineReview({
    ...authentication,
    kind: 'TokenReview',
    plural: 'tokenreviews',
    singular: 'tokenreview',
    namespaced: false,
    description: 'Authenticates a token.',
    fields,
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
