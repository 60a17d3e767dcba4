import { expect, test } from '@jest/globals';
import { defineKind } from './kind.ts';

test.each([0, -1])('a kind whose objects live for %d seconds is rejected', (timeToLiveSeconds) => {
  const names = { kind: 'Robot', plural: 'robots', singular: 'robot' };
  const declaration = { group: 'test.example', version: 'v1', ...names, description: 'For this test.', fields: {} };
  expect(() => defineKind({ ...declaration, timeToLiveSeconds })).toThrow('leases without a duration');
});
