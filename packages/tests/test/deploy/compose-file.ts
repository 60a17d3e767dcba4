import { loadYaml } from '@kubernetes/client-node';
import fs from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');

/** The parts of docker-compose.yml that tests read. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
}

export interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly image?: string;
  readonly build?: object;
  readonly profiles?: readonly string[];
}

/** Variables are replaced by their defaults. */
export const readComposeFile = (): ComposeFile =>
  applyMergeKeys(
    loadYaml(
      fs.readFileSync(path.join(root, 'docker-compose.yml'), 'utf8').replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1'),
    ),
  ) as ComposeFile; // the container engine validates the file

/** Applies merge keys (`<<`), which the parser keeps. */
function applyMergeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(applyMergeKeys);
  if (typeof value !== 'object' || value === null) return value;
  const { '<<': inherited, ...own } = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, applyMergeKeys(inner)]),
  );
  return { ...(inherited as object), ...own };
}
