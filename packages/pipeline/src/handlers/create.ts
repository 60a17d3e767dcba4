import { create, type Resource } from '@cluster-apiserver/registry';
import { bodyFormat, decodeObject, readBody } from '../body.ts';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { writeParameters } from '../options.ts';
import { objectResponse } from '../respond.ts';
import { namespaceOf } from './place.ts';

export const createHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const { request, info, call } = facts;
    negotiated(request, info.query);
    const format = bodyFormat(request);
    const body = await readBody(request);
    const { dryRun, manager, fieldValidation } = writeParameters('CreateOptions', request, info);
    const warn = (text: string): unknown => facts.warnings.add(text);
    const object = decodeObject(resource.kind, body, format, fieldValidation, warn);
    return objectResponse(
      facts,
      201,
      await create(resource, object, { namespace: namespaceOf(facts), dryRun, manager, warn }, call),
    );
  };
