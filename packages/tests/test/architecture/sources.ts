/** Imports and globals of all packages' sources, as a parser sees them: comments and local names do not count. */
import fs from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';

export const packagesDirectory = path.resolve(import.meta.dirname, '..', '..', '..');

export interface Source {
  readonly packageName: string;
  /** Path relative to `packages`. */
  readonly path: string;
  /** A test or a test helper. */
  readonly isTestCode: boolean;
  readonly imports: readonly Import[];
  /** Globals, alone (`process`) and with the accessed property (`process.env`). `new Date()` has its own entry. */
  readonly globals: ReadonlySet<string>;
}

export interface Import {
  readonly from: string;
  /** Undefined for all names. Type-only names are omitted, so a type-only import has none. */
  readonly names: readonly string[] | undefined;
}

/** Excludes the toolchain: plain scripts that run before dependencies are installed. */
export const packageNames = fs
  .readdirSync(packagesDirectory)
  .filter((name) => name !== 'toolchain' && fs.existsSync(path.join(packagesDirectory, name, 'package.json')));

export interface Manifest {
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** The manifest of a package, or of the root without an argument. */
export const manifestOf = (...packageName: [] | [string]): Manifest =>
  JSON.parse(
    fs.readFileSync(
      path.join(packagesDirectory, ...(packageName.length > 0 ? packageName : ['..']), 'package.json'),
      'utf8',
    ),
  );

export function readSources(): Source[] {
  return packageNames.flatMap((packageName) =>
    ['src', 'test', 'bench', 'fuzz'].flatMap((folder) =>
      filesBelow(path.join(packagesDirectory, packageName, folder)).map((file) => readSource(packageName, file)),
    ),
  );
}

function filesBelow(folder: string): string[] {
  if (!fs.existsSync(folder)) return [];
  const entries = fs.readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function readSource(packageName: string, file: string): Source {
  const imports: Import[] = [];
  const globals = new Set<string>();
  visit(parseSync(fs.readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2024' }));
  const relative = path.relative(packagesDirectory, file);
  return {
    packageName,
    path: relative,
    isTestCode: /\.test\.ts$|^[^/]+\/(test|bench|fuzz)\/|^testkit\/|\/testing\.ts$/.test(relative),
    imports,
    globals,
  };

  function visit(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportAllDeclaration':
        if (node.source) imports.push({ from: node.source.value, names: namesIn(node) });
        break;
      case 'CallExpression':
        if (node.callee?.type === 'Import') imports.push({ from: literal(node), names: undefined });
        break;
      case 'MemberExpression':
        if (isGlobal(node.object)) globals.add(`${node.object.value}.${node.property?.value}`);
        break;
      case 'NewExpression':
        if (isGlobal(node.callee) && node.callee.value === 'Date' && !node.arguments?.length) globals.add('new Date()');
        break;
      case 'Identifier':
        if (isGlobal(node)) globals.add(node.value);
        break;
      default:
    }
    for (const child of Object.values(node)) visit(child);
  }
}

/** The parts of the parser's syntax tree that are used here. */
interface Node {
  readonly type?: string;
  readonly ctxt?: number;
  readonly value?: unknown;
  readonly source?: { readonly value: string } | null;
  readonly typeOnly?: boolean;
  readonly specifiers?: readonly Specifier[];
  readonly callee?: Node;
  readonly object?: Node;
  readonly property?: Node;
  readonly arguments?: readonly { readonly expression: Node }[];
  readonly quasis?: readonly { readonly cooked: string }[];
}

interface Specifier {
  readonly type: string;
  readonly isTypeOnly?: boolean;
  readonly local?: { readonly value: string };
  readonly imported?: { readonly value: string } | null;
  readonly orig?: { readonly value: string };
}

/** The parser's mark of names that no scope of the file declares. */
const unresolved = 1;

const isGlobal = (node: Node | undefined): node is Node & { readonly value: string } =>
  node?.type === 'Identifier' && node.ctxt === unresolved && typeof node.value === 'string';

function namesIn({ specifiers = [], typeOnly, type }: Node): readonly string[] | undefined {
  if (typeOnly) return [];
  const named = specifiers.every(
    (specifier) => specifier.type === 'ImportSpecifier' || specifier.type === 'ExportSpecifier',
  );
  if (!named || type === 'ExportAllDeclaration') return undefined;
  return specifiers
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ imported, orig, local }) => (imported ?? orig ?? local)?.value ?? '');
}

/** For a template, such as a computed path, its literal beginning. */
const literal = (call: Node): string => {
  const argument = call.arguments?.[0]?.expression;
  return String(argument?.value ?? argument?.quasis?.[0]?.cooked);
};
