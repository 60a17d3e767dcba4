/** What tests import from `@jest/globals` when they run natively: the framework of the test file that runs. */
export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test;

export function setGlobals(given) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = given);
}
