import { expect, test } from '@jest/globals';
import { pages, writtenPage } from '../reference/pages.ts';

test.each(Object.entries(pages))('docs/%s has what is declared; npm run reference writes it anew', (name, page) => {
  expect(writtenPage(name)).toBe(page());
});
