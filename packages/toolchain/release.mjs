#!/usr/bin/env node
// What the workflow of a release needs: `release.mjs check TAG`, `outputs` and `assets`. They also run in a checkout.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { run, step } from './child.mjs';
import { provisionChartTools } from './helm.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';
import { describeRevision, reportVersions, version } from './version.mjs';

const folder = path.join(cache, 'release');

await main(async ([command, tag]) => {
  if (command === 'check') return check(tag);
  if (command === 'outputs') return printOutputs();
  if (command === 'assets') return makeAssets();
  throw new Failure('release.mjs does check TAG, outputs and assets');
});

/** A tag names the version of the sources, and all places agree on it. */
function check(tag) {
  if (tag !== `v${version}`) throw new Failure(`The tag ${tag} does not name the version ${version}.`);
  return reportVersions((text) => process.stdout.write(text)) === 0 ? 0 : 1;
}

/** In the format of GitHub's outputs of a step. */
function printOutputs() {
  const { commit, date, imageTag } = describeRevision() ?? {};
  if (!commit) throw new Failure('This is no git checkout.');
  console.log(`version=${version}\ncommit=${commit}\nimageTag=${imageTag}\ndate=${date}`);
  return 0;
}

async function makeAssets() {
  const { node, env } = prepare();
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const packed = path.join(cache, 'pack');
  fs.rmSync(packed, { recursive: true, force: true });
  const code = await run(node, [path.join('packages', 'toolchain', 'pack.mjs')], { env });
  if (code !== 0) return code;
  packageChart(); // before the npm package, whose archive is called the same
  for (const name of fs.readdirSync(packed).filter((file) => file.endsWith('.tgz')))
    fs.renameSync(path.join(packed, name), path.join(folder, name));
  fs.writeFileSync(path.join(folder, 'notes.md'), notes());
  const archives = fs.readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  const sums = archives.map((name) => `${sha256(path.join(folder, name))}  ${name}\n`);
  fs.writeFileSync(path.join(folder, 'SHA256SUMS'), sums.join(''));
  console.log(sums.join('').trimEnd());
  return 0;
}

function packageChart() {
  const helm = provisionChartTools(undefined).helm ?? 'helm';
  const { ok, output } = step(
    helm,
    ['package', path.join(root, 'helm', 'cluster-apiserver'), '--destination', folder],
    {
      cwd: cache,
    },
  );
  const made = /saved it to: (\S+)/.exec(output)?.[1];
  if (!ok || !made) throw new Failure(`The chart could not be packaged: ${output}\nnpm run chart builds Helm.`);
  fs.renameSync(made, path.join(folder, `cluster-apiserver-chart-${version}.tgz`));
}

/** The section of the changelog. */
function notes() {
  const [, ...sections] = fs.readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  const own = sections.find((section) => section.split('\n', 1)[0]?.startsWith(version));
  if (!own) throw new Failure(`CHANGELOG.md has no section ${version}.`);
  return own.slice(own.indexOf('\n') + 1).trim();
}

function sha256(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}
