import { chain, type Clock } from '@cluster-apiserver/base';
import type { EncodableKind, KubeObject, Review, Subresource } from '@cluster-apiserver/model/kind';
import {
  createReview,
  createSubresource,
  type LiveApi,
  type Requester,
  type Resource,
  type WriteOptions,
} from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { unstoredObjectResponse } from '../responses.ts';
import { readRequestObject } from './request-object.ts';
import { createRequester, namespacedNameOf, namespaceOf, readOperationOptions, type WriteChecks } from './requester.ts';

export const reviewHandler = (review: Review, checks: WriteChecks, clock: Clock): Handler<AuthenticatedContext> =>
  createUnstored(review, checks, clock, (object, options) => createReview(review, object, options, clock));

export const createSubresourceHandler = (
  resource: Resource,
  subresource: Subresource,
  checks: WriteChecks,
  api: LiveApi,
): Handler<AuthenticatedContext> =>
  createUnstored(subresource, checks, resource.clock, (object, options, context) =>
    createSubresource(resource, subresource, namespacedNameOf(context).name, object, options, context.call, api),
  );

/** The object of the request is answered, and not stored. */
const createUnstored =
  (
    kind: EncodableKind,
    checks: WriteChecks,
    clock: Clock,
    answer: (
      object: KubeObject,
      options: WriteOptions & { readonly requester: Requester },
      context: AuthenticatedContext,
    ) => Promise<KubeObject>,
  ): Handler<AuthenticatedContext> =>
  (context) =>
    chain(readRequestObject(kind, context, 'CreateOptions', clock), async ({ object, options, responseFormat }) => {
      const requester = createRequester(context, checks, readOperationOptions('CreateOptions', context.info));
      const answered = await answer(object, { ...options, namespace: namespaceOf(context), requester }, context);
      return unstoredObjectResponse(context, kind, responseFormat, 201, answered, clock);
    });
