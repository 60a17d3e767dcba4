/** The queries and rules of deploy/monitoring, read from its files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '@cluster-apiserver/model/codec';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const monitoring = join(root, 'deploy', 'monitoring');

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(monitoring, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(monitoring, folder, name));

export const ruleFiles = filesIn('prometheus', '.yaml');
export const ruleTests = filesIn('prometheus/tests', '.yaml');

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

export const rules: readonly Rule[] = ruleFiles.flatMap((file) =>
  (parseYaml(readFileSync(file, 'utf8')).value as Rules).groups.flatMap((group) => group.rules),
);
export const alerts = rules.filter((rule) => rule.alert !== undefined);

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } };
}

export interface DashboardPanel {
  /** Title of the row above it. */
  readonly row: string;
  readonly title: string;
  readonly unit: string;
  readonly targets: readonly { readonly legend: string; query(rateInterval: string): string }[];
}

/** The dashboard's panels. Their queries have a value for each variable. */
export const dashboardPanels: readonly DashboardPanel[] = filesIn('grafana', '.json').flatMap((file) => {
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { readonly panels: readonly Panel[] };
  let row = '';
  return panels.flatMap(({ type, title, targets = [], fieldConfig }) => {
    if (type === 'row') row = title;
    if (targets.length === 0) return [];
    const queries = targets.map(({ expr, legendFormat = '' }) => ({
      legend: legendFormat,
      query: (rateInterval: string) =>
        expr
          .replaceAll('$job', 'cluster-apiserver')
          .replaceAll('$instance', '.*')
          .replaceAll('$__rate_interval', rateInterval),
    }));
    return [{ row, title, unit: fieldConfig?.defaults?.unit ?? 'short', targets: queries }];
  });
});

export const panelQueries: readonly { readonly panel: string; readonly query: string }[] = dashboardPanels.flatMap(
  ({ title, targets }) => targets.map(({ query }) => ({ panel: title, query: query('1m') })),
);

/** The metrics of a query with the labels that it selects. All of them have a selector. */
export const selectorsIn = (query: string): { readonly name: string; readonly labels: readonly string[] }[] =>
  Array.from(query.matchAll(/([a-z_][\w:]*)\{([^}]*)\}/g), ([, name = '', selector = '']) => ({
    name,
    labels: Array.from(selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g), ([, label = '']) => label),
  }));

/** The labels by which a query aggregates or matches. */
export const labelsGroupedBy = (query: string): string[] =>
  Array.from(query.matchAll(/\b(?:by|on|ignoring) \(([^)]*)\)/g), ([, labels = '']) => labels.split(',')).flatMap(
    (labels) => labels.map((label) => label.trim()),
  );

export const runbooks = (): string => readFileSync(join(root, 'docs', 'runbooks.md'), 'utf8');
