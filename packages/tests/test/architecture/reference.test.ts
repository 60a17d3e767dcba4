import { expect, test } from '@jest/globals';
import { pages, writtenPage } from '../reference/pages.ts';

test.each(Object.entries(pages))('%s is up to date; `npm run reference` regenerates it', (name, page) => {
  expect(writtenPage(name)).toBe(page());
});
