/** Every command of the pages runs in a test, or stands here with the reason why not. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import { parseFlags } from '@cluster-apiserver/server';
import { blocksOf } from '../document-steps.ts';
import {
  chartSections,
  composeSections,
  curlSections,
  etcdctlSections,
  imageSections,
  kubectlSections,
  recipeSections,
  type Section,
  sectionsOf,
  serverSections,
  startSections,
} from '../documented-sections.ts';
import { pages, read, root } from './documents.ts';

/** Blocks of commands that no test runs: section, how the block begins, and why. */
const notRun: readonly (readonly [section: Section, beginning: string, reason: string])[] = [
  [
    'docs/install.md: ## Docker compose',
    'AUTHENTICATION_CONFIG=',
    'needs images of others; compose.cluster.test.ts starts the profiles whose images it has',
  ],
  [
    'docs/install.md: ## Docker compose',
    'TOKEN=$(curl ',
    'needs the image of Dex; with it compose.cluster.test.ts runs the block',
  ],
  [
    'docs/install.md: ## The image',
    'docker build ',
    'needs a registry of base images; npm run images builds the same file',
  ],
  ['docs/install.md: ### Verify a release', 'OWNER=', 'needs a release with its signatures'],
  ['docs/clients.md: ## k9s', 'go install ', 'compiles for minutes; k9s.etcd.test.ts runs what clients.mjs has built'],
  ['docs/benchmarks.md: ## Next to kube-apiserver', 'KUBE_APISERVER_BIN=… npm run bench ', 'measures for ten minutes'],
  ['bench/README.md: # Benchmark', 'KUBE_APISERVER_BIN=… npm run bench ', 'measures for ten minutes'],
  ['bench/README.md: ## Many definitions', 'npm run bench ', 'measures for minutes'],
  ['conformance/README.md: ## Replay', 'npm run conformance ', 'is a part of npm test'],
  ['conformance/README.md: ## Unrecorded cases', 'KUBE_APISERVER_BIN=', 'records with a kube-apiserver for minutes'],
  ['docs/testing.md: ## The fuzzer', 'npm run fuzz ', 'takes half an hour; fuzz.cluster.test.ts sends 8,000 inputs'],
  ['docs/adding-a-kind.md: # Adding a kind', 'npm test ', 'runs tests'],
  ['docs/testing.md: ## Coverage', 'npm run coverage ', 'runs tests'],
  ['docs/testing.md: ## Versions of etcd', 'ETCD_BIN=', 'runs tests'],
  [
    'packages/tests/data/stored-elsewhere/README.md: # Values as kube-apiserver stores them',
    'KUBE_APISERVER_BIN=',
    'records with a kube-apiserver',
  ],
  ['docs/decisions/0054-dependencies.md: ## The version of Kubernetes', 'node ', 'compiles for 15 minutes'],
];

const lists: Readonly<Record<string, readonly Section[]>> = {
  startSections,
  curlSections,
  kubectlSections,
  serverSections,
  etcdctlSections,
  chartSections,
  composeSections,
  recipeSections,
  imageSections,
};

const blocks = pages.flatMap((page) => blocksOf(read(root, page)).map((block) => ({ page, ...block })));

test.each(Object.keys(lists))('a test goes through %s', (list) => {
  const imports = new RegExp(`import \\{[^}]*\\b${list}\\b[^}]*\\} from '[./]+/documented-sections.ts'`);
  const tests = fs.globSync('packages/tests/test/**/*.cluster.test.ts', { cwd: root });
  expect(tests.filter((file) => imports.test(read(root, file)))).toHaveLength(1);
});

test('a test runs each section with blocks of the console, and no other', () => {
  expect(Object.values(lists).flat().toSorted()).toEqual(pages.flatMap(sectionsOf).toSorted());
});

const others = blocks.filter(({ language }) => language === 'sh');
const isListed = ({ page, heading, text }: (typeof blocks)[number], [section, beginning]: (typeof notRun)[number]) =>
  section === `${page}: ${heading}` && text.startsWith(beginning);

test('each other block of commands is listed with a reason', () => {
  expect(others.filter((block) => !notRun.some((entry) => isListed(block, entry)))).toEqual([]);
});

test('each entry of that list is about one block', () => {
  expect(notRun.filter((entry) => others.filter((block) => isListed(block, entry)).length !== 1)).toEqual([]);
});

/** What blocks can be. */
const languages = new Set(['console', 'sh', 'yaml', 'json', 'js', 'ts', 'text', 'mermaid']);
const programs = /^ *(\$ |(npm|npx|node|kubectl|docker|helm|etcdctl|etcdutl|curl|go|openssl|cluster-apiserver) )/m;

test('each block says what it is', () => {
  const unclear = blocks.filter(
    ({ language, text }) => !languages.has(language) || (language === 'text' && programs.test(text)),
  );
  expect(unclear).toEqual([]);
});

/** Commands of blocks and in sentences, without variables before them and comments behind them. */
const commands = pages.flatMap((page) => {
  const text = read(root, page);
  const inBlocks = blocksOf(text).flatMap(({ language, text: block }) =>
    language === 'console' || language === 'sh' ? block.replaceAll(/\\\n(> )?/g, '').split('\n') : [],
  );
  const inSentences = Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code);
  return [...inBlocks, ...inSentences]
    .map((command) =>
      command
        .replace(/^\$ /, '')
        .replace(/^([A-Z_]+=\S+ )+/, '')
        .replace(/ +# .*/, ''),
    )
    .filter((command) => /^(npm|npx|node|cluster-apiserver) /.test(command))
    .map((command) => ({ page, command, words: command.split(/ +/) }));
});
const broken = (isBroken: (command: (typeof commands)[number]) => boolean): string[] =>
  commands.filter(isBroken).map(({ page, command }) => `${page}: ${command}`);

const { scripts } = JSON.parse(read(root, 'package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const ofNpm = new Set(['ci', 'install', 'publish', 'audit', 'version']);

test('scripts of npm and programs of Node that commands name exist', () => {
  expect(commands.length).toBeGreaterThan(100);
  const doesNotExist = ([program, first = '', second = '']: readonly string[]): boolean => {
    if (program === 'npm') return first === 'run' ? !(second in scripts) : !(first in scripts || ofNpm.has(first));
    return program === 'node' && /\.(mjs|ts)$/.test(first) && !fs.existsSync(`${root}/${first}`);
  };
  expect(broken(({ words }) => doesNotExist(words))).toEqual([]);
});

test('patterns of tests in commands match a test', () => {
  const files = fs.globSync('packages/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] });
  const isPattern = (word: string): boolean => !/^-|^[A-Z]+$|…/.test(word);
  const matchesNone = ({ words }: (typeof commands)[number]): boolean => {
    const [, script, ...rest] = words[1] === 'run' ? words.slice(1) : words;
    return (
      ['test', 'soak', 'faults', 'coverage'].includes(script ?? '') &&
      rest
        .filter((word) => isPattern(word))
        .some((word) => !files.some((file) => new RegExp(word.replaceAll("'", '')).test(file)))
    );
  };
  expect(broken(matchesNone)).toEqual([]);
});

const texts = new Map<string, string>();
function textOf(...patterns: readonly string[]): string {
  const key = patterns.join(' ');
  const text =
    texts.get(key) ??
    fs
      .globSync(patterns, { cwd: root })
      .map((file) => read(root, file))
      .join('\n');
  texts.set(key, text);
  return text;
}
const declared = new Set(Object.keys(parseFlags([])));
/** Where the options of a script are declared, beside its program. */
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  start: ['packages/devcluster/src/options.ts'],
  dev: ['packages/devcluster/src/options.ts'],
  bench: ['bench/*.mjs', 'packages/tests/bench/hostile.ts'],
  fuzz: ['packages/tests/fuzz/main.ts'],
  conformance: ['conformance/run.mjs'],
};
const program = ['packages/devcluster/src/options.ts', 'packages/server/src/commands/**/*.ts'];
/** Of Jest, for `npm test`. */
const ofJest = new Set(['u', 't', 'seed']);

test('options that commands have exist', () => {
  const isUnknown = ({ words }: (typeof commands)[number]): boolean => {
    const [first = '', second = '', third = ''] = words;
    const script = first === 'npm' ? (second === 'run' ? third : second) : undefined;
    if (script !== undefined && ofNpm.has(script)) return false;
    const sources =
      script === undefined
        ? textOf(...(first === 'node' ? [second] : program))
        : textOf(`packages/toolchain/${script}.mjs`, ...(optionsOf[script] ?? []));
    return words
      .filter((word) => /^--?[a-z]/.test(word) && !(first === 'node' && word === second))
      .map((word) => word.replace(/^-+/, '').replace(/=.*/, ''))
      .some(
        (option) =>
          !declared.has(option) &&
          !(script === 'test' && ofJest.has(option)) &&
          !new RegExp(`--${option}\\b|^ +'?${option}'?: \\{`, 'm').test(sources),
      );
  };
  expect(broken(isUnknown)).toEqual([]);
});

/** Flags of other programs, and flags of kube-apiserver that this server does not have. */
const foreignFlags = new Set([
  ...['bump-revision', 'mark-compacted', 'initial-cluster-token'], // etcdctl
  ...['command', 'force-conflicts'], // k9s, kubectl
  ...['enable-feature', 'enable-ssl-passthrough'], // Prometheus, the controller of ingress-nginx
  ...['experimental-enable-distributed-tracing', 'enable-distributed-tracing'], // etcd
  ...['v8-pool-size', 'trace-event-categories', 'no-compact', 'trace-gc', 'no-parallel-scavenge'], // Node.js
  'external-memory-accounted-in-global-limit',
  ...['legacy-service-account-token-clean-up-period', 'runtime-config', 'storage-media-type'],
]);

test('flags that sentences name exist', () => {
  const own = textOf(
    'packages/toolchain/*.mjs',
    'packages/{devcluster,server}/src/**/*.ts',
    ...Object.values(optionsOf).flat(),
  );
  const unknown = pages.flatMap((page) =>
    Array.from(read(root, page).matchAll(/`--([a-z][a-z0-9-]*[a-z0-9])/g), ([, flag = '']) => flag)
      .filter((flag) => !declared.has(flag) && !foreignFlags.has(flag))
      .filter((flag) => !new RegExp(`--${flag}\\b|^ +'?${flag}'?: \\{`, 'm').test(own))
      .map((flag) => `${page}: --${flag}`),
  );
  expect(unknown).toEqual([]);
});
