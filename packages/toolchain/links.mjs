#!/usr/bin/env node
// npm run links: requests the pages of others that the pages of this repository link to, and fails if one is gone. It needs
// the internet, so no test runs it; the workflow `nightly` does. `-- --list` prints the links, `-- URL …` requests these.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { Failure, main, root } from './project.mjs';

const attempts = 3;
const answerMaxMs = 20_000;
const parallel = 4;
/** The page is there, but is not shown to programs, or not so often. */
const refusesPrograms = new Set([401, 403, 429]);

await main(async (args) => {
  const links = args.some((arg) => /^https?:/.test(arg)) ? args.map((url) => ({ page: 'argument', url })) : readLinks();
  if (args.includes('--list')) {
    for (const { page, url } of links) console.log(`${page} ${url}`);
    return 0;
  }
  const urls = [...new Set(links.map(({ url }) => url))];
  /** @type {string[]} */
  const dead = [];
  const next = async () => {
    for (let url = urls.pop(); url !== undefined; url = urls.pop()) {
      const fault = await findFault(url);
      if (fault) dead.push(`${url}: ${fault}, in ${links.filter((link) => link.url === url).map(({ page }) => page)}`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, next));
  if (dead.length > 0) throw new Failure(`Links lead nowhere:\n${dead.toSorted().join('\n')}`);
  console.log(`All ${links.length} links lead somewhere.`);
  return 0;
});

/** Of Markdown: in a sentence, in a list of references, or the address itself. Code is no link. */
function readLinks() {
  const pages = outputOf('git', ['ls-files', '--', '*.md']).split('\n');
  return pages
    .filter((page) => page && fs.existsSync(path.join(root, page)))
    .flatMap((page) => {
      const text = fs
        .readFileSync(path.join(root, page), 'utf8')
        .replaceAll(/^ *```[^]*?^ *```$/gm, '')
        .replaceAll(/`[^`\n]+`/g, '');
      const found = text.matchAll(/\]\((https?:[^)\s]+)\)|^\[[^\]]+\]: (https?:\S+)|<(https?:[^>\s]+)>/gm);
      return Array.from(found, ([, inSentence, reference, bare]) => ({ page, url: inSentence ?? reference ?? bare }));
    })
    .filter(({ url }) => !/^https?:\/\/(127\.0\.0\.1|localhost|[\w.-]*\.?example(\.com)?)([:/]|$)/.test(url));
}

/** What is wrong, after some attempts. */
async function findFault(url) {
  let fault;
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const { status, body } = await fetch(url, { signal: AbortSignal.timeout(answerMaxMs) });
      await body?.cancel();
      if (status < 400 || refusesPrograms.has(status)) return undefined;
      fault = `status ${status}`;
    } catch (error) {
      fault = error.cause?.code ?? error.message;
    }
  }
  return fault;
}
