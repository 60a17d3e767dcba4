import fs from 'node:fs';
import path from 'node:path';

/** The links of a site built for this base, such as /v1.0.0/, to its pages, sections and files that lead nowhere. */
export function deadLinks(dist, base) {
  const files = fs.readdirSync(dist, { recursive: true }).map(String);
  const ids = new Map(
    files
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file, idsIn(fs.readFileSync(path.join(dist, file), 'utf8'))]),
  );
  return [...ids.keys()].flatMap((page) =>
    linksIn(fs.readFileSync(path.join(dist, page), 'utf8')).flatMap((link) => {
      const url = new URL(link, `https://site${base}${page.replace(/(?:^|(?<=\/))index\.html$|\.html$/, '')}`);
      if (url.host !== 'site' || !url.pathname.startsWith(base)) return [];
      const name = decodeURIComponent(url.pathname.slice(base.length));
      const file = [name, `${name}.html`, path.join(name, 'index.html')].find(
        (one) => ids.has(one) || (one !== '' && files.includes(one) && path.extname(one) !== ''),
      );
      const anchor = decodeURIComponent(url.hash.slice(1));
      return file !== undefined && (anchor === '' || ids.get(file)?.has(anchor)) ? [] : [`${page}: ${link}`];
    }),
  );
}

const linksIn = (html) =>
  Array.from(html.matchAll(/\s(?:href|src)="([^"]+)"/g), ([, link]) => link.replaceAll('&amp;', '&'));

const idsIn = (html) => new Set(Array.from(html.matchAll(/\sid="([^"]+)"/g), ([, id]) => id));
