import type { Clock } from '@cluster-apiserver/base';
import type { Kind, Review } from '@cluster-apiserver/model';
import { type ServedVersion, servedGroups } from '../discovery/served-groups.ts';
import type { NonResourceHandler, NonResourceRoutes } from '../non-resource/router.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { coversType, parseMediaRanges } from '../encoding/media-ranges.ts';
import { mediaTypes } from '../encoding/encode.ts';
import { respondEncoded, respondPrepared, prepareBody, prepareEncodings } from '../non-resource/prepared-response.ts';
import { operationsOf } from './operations.ts';
import { referencePage } from './reference-page.ts';
import { document2 } from './version-2.ts';
import { encodeDocument2, protobuf2Types } from './version-2-protobuf.ts';
import { type Document3, document3 } from './version-3.ts';

/** `/openapi/v2`, `/openapi/v3` with a document for each group and version, and `/docs`, an HTML reference. */
export function openApiRoutes(kinds: readonly (Kind | Review)[], version: string, clock: Clock): NonResourceRoutes {
  const versions = servedGroups(kinds)
    .flatMap(({ versions }) => versions)
    .map((served) => ({ path: pathOf(served), document: documentOf(served, version) }));
  const withForms = versions.map(({ path, document }) => ({ path, forms: prepareEncodings(document) }));
  const index = prepareEncodings({
    paths: Object.fromEntries(
      withForms.map(({ path, forms }) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${forms.json.hash}` }]),
    ),
  });
  const whole = document2(kinds.flatMap(operationsOf), version);
  const wholeForms = prepareEncodings(whole);
  const wholeProtobuf = prepareBody(protobuf2Types[0], Buffer.from(encodeDocument2(whole)));
  const page = prepareBody('text/html; charset=utf-8', referencePage(versions.map(({ document }) => document)));
  return {
    '/openapi/v2': (context) =>
      prefersProtobuf2(context.request) ? respondPrepared(context, wholeProtobuf) : respondEncoded(context, wholeForms),
    '/openapi/v3': (context) => respondEncoded(context, index),
    ...Object.fromEntries(
      withForms.map(({ path, forms }): [string, NonResourceHandler] => [
        `/openapi/v3/${path}`,
        (context) => {
          const asked = context.info.query.get('hash');
          if (asked === null || asked === '') return respondEncoded(context, forms);
          if (asked !== forms.json.hash) return moved(context, path, forms.json.hash);
          return respondEncoded(context, forms, forAYear(clock));
        },
      ]),
    ),
    '/docs': (context) => respondPrepared(context, page, pageHeaders),
  };
}

/** A client that accepts everything gets JSON. */
function prefersProtobuf2(request: ApiRequest): boolean {
  const others = Object.keys(mediaTypes);
  for (const range of parseMediaRanges(request.header('accept'))) {
    if (protobuf2Types.some((type) => type === range.type)) return true;
    if (others.some((type) => coversType(range, type))) return false;
  }
  return false;
}

/** The path prefix of the version, without the first slash. */
const pathOf = ({ groupVersion, version }: ServedVersion): string =>
  `${groupVersion === version ? 'api' : 'apis'}/${groupVersion}`;

const documentOf = ({ kinds }: ServedVersion, version: string): Document3 =>
  document3(kinds.flatMap(operationsOf), version);

const yearMs = 365 * 24 * 60 * 60 * 1000;

/** The document of a hash never changes. */
const forAYear = (clock: Clock): Record<string, string> => ({
  'cache-control': 'public, immutable',
  expires: new Date(clock.now() + yearMs).toUTCString(),
});

/** Redirects a client with an outdated index to the current document. */
const moved = ({ auditId }: AuthenticatedContext, path: string, hash: string): ApiResponse => ({
  status: 301,
  headers: {
    'audit-id': auditId,
    'cache-control': 'no-cache, private',
    location: `/openapi/v3/${path}?hash=${hash}`,
  },
});

/** The page loads no resources and runs no scripts. */
const pageHeaders = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
};
