import { chain, type Clock } from '@cluster-apiserver/base';
import { type KubeObject, fieldSubresourceOf, type EncodableKind } from '@cluster-apiserver/model/kind';
import { fromServed, type Resource, type WriteOptions } from '@cluster-apiserver/registry';
import { formatOfBody } from '../request-body/body-formats.ts';
import { readBody } from '../request-body/read-body.ts';
import { readObject } from '../request-body/read-object.ts';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import { type ResponseFormat, negotiateObject } from '../encoding/negotiate.ts';
import { readWriteParameters } from '../query-parameters.ts';
import { readOperationOptions, namespaceOf, createRequester, type WriteChecks } from './requester.ts';

interface RequestObject<Options> {
  readonly object: KubeObject;
  readonly options: Options;
  /** The format of the response. */
  readonly responseFormat: ResponseFormat;
}

/** Reads an object for create or update, in the version in which writes are decided. */
export function readObjectToStore(
  resource: Resource,
  checks: WriteChecks,
  context: AuthenticatedContext,
  parameters: 'CreateOptions' | 'UpdateOptions',
): RequestObject<WriteOptions> | Promise<RequestObject<WriteOptions>> {
  const { served, clock } = resource;
  return chain(readRequestObject(served, context, parameters, clock), ({ object, options, responseFormat }) => ({
    object: fromServed(resource, object),
    options: {
      ...options,
      namespace: namespaceOf(context),
      subresource: fieldSubresourceOf(served, context.info.resource?.subresource),
      requester: createRequester(context, checks, readOperationOptions(parameters, context.info)),
    },
    responseFormat,
  }));
}

/** Reads an object of any kind. Unsupported formats are refused before the body is read. */
export function readRequestObject(
  kind: EncodableKind,
  context: AuthenticatedContext,
  parameters: 'CreateOptions' | 'UpdateOptions',
  clock: Clock,
): RequestObject<Omit<WriteOptions, 'namespace'>> | Promise<RequestObject<Omit<WriteOptions, 'namespace'>>> {
  const { request, info } = context;
  const responseFormat = negotiateObject(context, kind);
  // As in kube-apiserver, the media type of a new object comes before the parameters, and that of a replacement after them.
  const formatOfNew = parameters === 'CreateOptions' ? formatOfBody(request, kind) : undefined;
  const { dryRun, manager, fieldValidation } = readWriteParameters(parameters, request, info);
  const bodyFormat = formatOfNew ?? formatOfBody(request, kind);
  return chain(readBody(context), (body) => {
    const warn = (text: string): void => addWarning(context, text);
    return chain(readObject(kind, body, bodyFormat, fieldValidation, warn, clock, context.call), (object) => {
      context.audit?.logRequestObject(object, body.length);
      return { object, options: { dryRun, manager, warn }, responseFormat };
    });
  });
}
