import { expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import {
  CorruptValueError,
  KeyUnavailableError,
  RevisionCompactedError,
  revision,
  StorageUnavailableError,
  WriteInDoubtError,
} from '@cluster-apiserver/storage';
import { toStatusError } from './storage-errors.ts';

const keys = Array.from({ length: 300 }, (_, at) => `/registry/events/n/${at}`);

test.each<[string, Error, string, RegExp]>([
  ['an unavailable storage', new StorageUnavailableError(), 'ServiceUnavailable', /^the storage is unavailable/],
  [
    'an unavailable KMS plugin during a write',
    new KeyUnavailableError(),
    'ServiceUnavailable',
    /^the KMS plugin .* is unavailable/,
  ],
  [
    'an unavailable KMS plugin during a read',
    new CorruptValueError(['/a'], { cause: new KeyUnavailableError() }),
    'ServiceUnavailable',
    /\/a at present$/,
  ],
  ['a corrupt value', new CorruptValueError(['/a']), 'InternalError', /\/a$/],
  [
    'a compacted revision',
    new RevisionCompactedError(revision(7)),
    'Expired',
    /^The resourceVersion for the provided list is too old\.$/,
  ],
])('%s becomes a StatusError with its own reason', (_, error, reason, message) => {
  const answer = toStatusError(error);
  expect(answer).toBeInstanceOf(StatusError);
  expect(answer).toMatchObject({ reason, message: expect.stringMatching(message), cause: error });
});

test('an expired watch names the oldest version to watch from, if it is known', () => {
  const since = revision(3);
  const messageFor = (error: Error): string => (toStatusError(error, { since }) as StatusError).message;
  // The error may be of a replay that began before.
  expect(messageFor(new RevisionCompactedError(revision(2), revision(9)))).toBe('too old resource version: 3 (8)');
  expect(messageFor(new RevisionCompactedError(since))).toBe('The resourceVersion for the provided watch is too old.');
});

test('a write that may have been applied is not answered with an invitation to repeat it', () => {
  expect(toStatusError(new WriteInDoubtError('/a'))).toMatchObject({
    code: 504,
    reason: 'Timeout',
    details: undefined,
  });
  expect(toStatusError(new StorageUnavailableError())).toMatchObject({ code: 503, details: { retryAfterSeconds: 1 } });
});

test('a list names its unreadable objects, up to a bound', () => {
  const answer = toStatusError(new CorruptValueError(keys), 'collection') as StatusError;
  expect([answer.reason, answer.code]).toEqual(['StorageReadError', 500]);
  expect(answer.details?.causes?.map(({ field }) => field)).toEqual(keys.slice(0, 100));
});
