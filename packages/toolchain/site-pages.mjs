import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';
import { version } from './version.mjs';

/** The folders whose Markdown files are pages, and those whose subfolders have pages as well. */
const folders = ['.', 'bench', 'conformance'];
const trees = ['docs', 'deploy', 'helm'];

/** The pages of the site, by their path in the repository. */
function pagesOfSite() {
  const isPage = (name) => name.endsWith('.md') && !name.includes('node_modules');
  const inFolders = folders.flatMap((folder) =>
    fs.readdirSync(path.join(root, folder)).map((name) => path.join(folder, name)),
  );
  const inTrees = trees.flatMap((tree) =>
    fs.readdirSync(path.join(root, tree), { recursive: true }).map((name) => path.join(tree, String(name))),
  );
  return [...inFolders, ...inTrees].filter(isPage).sort();
}

/**
 * Copies the pages, their pictures and the settings of the site into an empty folder.
 * @param {string} folder
 * @param {{readonly sourceUrl?: string, readonly versionsUrl?: string}} urls of the sources, and of all versions of the site
 */
export function copyPages(folder, { sourceUrl, versionsUrl }) {
  fs.rmSync(folder, { recursive: true, force: true });
  const pages = new Set(pagesOfSite());
  for (const page of pages) {
    const file = path.join(folder, siteFile(page));
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, sitePage(page, fs.readFileSync(path.join(root, page), 'utf8'), pages, sourceUrl));
  }
  fs.cpSync(path.join(root, 'docs', 'images'), path.join(folder, 'docs', 'images'), { recursive: true });
  const settings = path.join(folder, '.vitepress');
  for (const name of ['config.mjs', 'theme'])
    fs.cpSync(path.join(root, 'docs', '.vitepress', name), path.join(settings, name), { recursive: true });
  // The bundler would otherwise read the settings of the project.
  fs.writeFileSync(path.join(folder, 'tsconfig.json'), '{}\n');
  fs.writeFileSync(
    path.join(settings, 'site.mjs'),
    `export const version = ${JSON.stringify(version)};\nexport const versionsUrl = ${JSON.stringify(versionsUrl)};\nexport ${anchorOf.toString()}\n`,
  );
}

/** The first page of a site with several versions, of which each is a folder such as v1.0.0. The latest is first. */
export function versionsPage(names) {
  const { compare } = new Intl.Collator('en', { numeric: true });
  const versions = names
    .filter((name) => /^v\d/.test(name))
    .map((name) => ({ name, number: name.split('-', 1)[0], isCandidate: name.includes('-') }))
    .sort(
      (one, other) =>
        compare(other.number, one.number) ||
        Number(one.isCandidate) - Number(other.isCandidate) ||
        compare(other.name, one.name),
    )
    .map(({ name }) => `<li><a href="${name}/">${name}</a></li>\n`);
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Cluster API Server: versions</title>\n<h1>Cluster API Server</h1>\n<ul>\n${versions.join('')}</ul>\n</html>\n`;
}

/** The page of a folder is its README. */
const siteFile = (page) => page.replace(/\bREADME\.md$/, 'index.md');

/** What a page is on the site: without comments, and with links only to pages and, if it is known where, to sources. */
function sitePage(page, text, pages, sourceUrl) {
  const isDiary = page.startsWith(path.join('docs', 'diary'));
  const withoutComments = text.replace(/^<!--[^]*?-->\n/gm, '');
  const linked = withoutComments.replace(/(?<!!)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g, (link, label, target) => {
    if (/^(?:https?:|#|mailto:)/.test(target)) return link;
    const [file, anchor] = target.split('#');
    const place = path.join(path.dirname(page), file);
    const linkedPage = [place, path.join(place, 'README.md')].find((one) => pages.has(one));
    if (linkedPage === undefined) return sourceUrl === undefined ? label : `[${label}](${sourceUrl}/${place})`;
    const near = path.relative(path.dirname(page), siteFile(linkedPage));
    return `[${label}](${anchor === undefined ? near : `${near}#${anchor}`})`;
  });
  // The search is for what is true today.
  return isDiary ? `---\nsearch: false\n---\n\n${linked}` : linked;
}

/** The anchor of a heading, as forges derive it. It has no other names: its text becomes part of the site's settings. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
