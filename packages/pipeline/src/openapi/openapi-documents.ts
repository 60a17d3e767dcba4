import type { Clock } from '@cluster-apiserver/base';
import type { Kind, Review } from '@cluster-apiserver/model';
import { type ServedVersion, servedGroups } from '../discovery/served-groups.ts';
import type { Document, Documents } from '../documents.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { covers, mediaRanges } from '../forms/media-ranges.ts';
import { mediaTypes } from '../forms/encoded.ts';
import { answerInForm, answerReady, ready, readyForms } from '../ready-document.ts';
import { operationsOf } from './operations.ts';
import { referencePage } from './reference-page.ts';
import { document2 } from './version-2.ts';
import { encodeDocument2, protobuf2Types } from './version-2-protobuf.ts';
import { type Document3, document3 } from './version-3.ts';

/** `/openapi/v2`, `/openapi/v3` with a document for each group and version, and `/docs` for people. */
export function openApiDocuments(kinds: readonly (Kind | Review)[], version: string, clock: Clock): Documents {
  const versions = servedGroups(kinds)
    .flatMap(({ versions }) => versions)
    .map((served) => ({ path: pathOf(served), document: documentOf(served, version) }));
  const withForms = versions.map(({ path, document }) => ({ path, forms: readyForms(document) }));
  const index = readyForms({
    paths: Object.fromEntries(
      withForms.map(({ path, forms }) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${forms.json.hash}` }]),
    ),
  });
  const whole = document2(kinds.flatMap(operationsOf), version);
  const wholeForms = readyForms(whole);
  const wholeProtobuf = ready(protobuf2Types[0], Buffer.from(encodeDocument2(whole)));
  const page = ready('text/html; charset=utf-8', referencePage(versions.map(({ document }) => document)));
  return {
    '/openapi/v2': (facts) =>
      prefersProtobuf2(facts.request) ? answerReady(facts, wholeProtobuf) : answerInForm(facts, wholeForms),
    '/openapi/v3': (facts) => answerInForm(facts, index),
    ...Object.fromEntries(
      withForms.map(({ path, forms }): [string, Document] => [
        `/openapi/v3/${path}`,
        (facts) => {
          const asked = facts.info.query.get('hash');
          if (asked === null || asked === '') return answerInForm(facts, forms);
          if (asked !== forms.json.hash) return moved(facts, path, forms.json.hash);
          return answerInForm(facts, forms, forAYear(clock));
        },
      ]),
    ),
    '/docs': (facts) => answerReady(facts, page, pageHeaders),
  };
}

/** Whoever takes everything gets JSON. */
function prefersProtobuf2(request: ApiRequest): boolean {
  const others = Object.keys(mediaTypes);
  for (const range of mediaRanges(request.header('accept'))) {
    if (protobuf2Types.some((type) => type === range.type)) return true;
    if (others.some((type) => covers(range, type))) return false;
  }
  return false;
}

/** As the paths of the API begin, without the first slash. */
const pathOf = ({ groupVersion, version }: ServedVersion): string =>
  `${groupVersion === version ? 'api' : 'apis'}/${groupVersion}`;

const documentOf = ({ kinds }: ServedVersion, version: string): Document3 =>
  document3(kinds.flatMap(operationsOf), version);

const yearMs = 365 * 24 * 60 * 60 * 1000;

/** What a hash names never changes. */
const forAYear = (clock: Clock): Record<string, string> => ({
  'cache-control': 'public, immutable',
  expires: new Date(clock.now() + yearMs).toUTCString(),
});

/** A client with an index of another version is shown the document of this one, under its own name. */
const moved = ({ auditId }: Authenticated, path: string, hash: string): ApiResponse => ({
  status: 301,
  headers: {
    'audit-id': auditId,
    'cache-control': 'no-cache, private',
    location: `/openapi/v3/${path}?hash=${hash}`,
  },
});

/** The page loads nothing and runs nothing. */
const pageHeaders = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
};
