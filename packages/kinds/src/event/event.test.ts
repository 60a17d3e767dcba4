import { expect, test } from '@jest/globals';
import { services } from '../../test/services.ts';
import { createEventKind } from './event-kind.ts';

test.each([
  [3600, 3600],
  [0, undefined],
])('events that are retained for %j seconds are stored for %j seconds', (eventLifetimeSeconds, expected) => {
  expect(createEventKind({ ...services, eventLifetimeSeconds }).timeToLiveSeconds).toBe(expected);
});
