import { type Resource, replace } from '@cluster-apiserver/registry';
import { bodyFormat, decodeObject, readBody } from '../body.ts';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { writeParameters } from '../options.ts';
import { objectResponse } from '../respond.ts';
import { placeOf } from './place.ts';

export const replaceHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const { request, info, call } = facts;
    negotiated(request, info.query);
    const format = bodyFormat(request);
    const body = await readBody(request);
    const { dryRun, manager, fieldValidation } = writeParameters('UpdateOptions', request, info);
    const warn = (text: string): unknown => facts.warnings.add(text);
    const object = decodeObject(resource.kind, body, format, fieldValidation, warn);
    const { namespace, name } = placeOf(facts);
    const { outcome, created } = await replace(resource, name, object, { namespace, dryRun, manager, warn }, call);
    return objectResponse(facts, created ? 201 : 200, outcome);
  };
