import { expect, test } from '@jest/globals';
import { loadYaml } from '@kubernetes/client-node';
import fs from 'node:fs';
import path from 'node:path';
import { root } from './compose-file.ts';

// Grafana itself is not available where these tests run. The dashboard was compared once with the types of
// @grafana/schema; this keeps what they require and what Grafana does not report.

const columns = 24;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly datasource?: { readonly uid: string };
  readonly options?: { readonly legend?: object };
}

interface DataSource {
  readonly name: string;
  readonly isDefault?: boolean;
}

const read = (...file: string[]): string => fs.readFileSync(path.join(root, 'deploy', ...file), 'utf8');

const { panels } = JSON.parse(read('monitoring', 'grafana', 'cluster-apiserver.json')) as {
  readonly panels: readonly Panel[];
};

test('each time series has a legend with the fields that the schema of Grafana requires', () => {
  const legends = panels.filter(({ type }) => type === 'timeseries').map(({ options }) => options?.legend);
  expect(legends.length).toBeGreaterThan(0);
  for (const legend of legends)
    expect(legend).toEqual({ showLegend: true, displayMode: 'table', placement: 'bottom', calcs: expect.anything() });
});

test('panels have unique ids, fit into the grid and use the selected data source', () => {
  const ids = panels.map(({ id }) => id);
  expect([...new Set(ids)]).toEqual(ids);
  for (const { type, gridPos, datasource } of panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(columns);
    if (type !== 'row') expect(datasource?.uid).toBe('${datasource}');
  }
});

test('provisioned data sources have the required fields, and one is the default', () => {
  const { datasources } = loadYaml<{ readonly datasources: readonly DataSource[] }>(
    read('compose', 'observability', 'grafana', 'datasources', 'datasources.yaml'),
  );
  for (const one of datasources) expect(one).toMatchObject({ type: one.name.toLowerCase(), access: 'proxy' });
  expect(datasources.filter(({ isDefault }) => isDefault)).toHaveLength(1);
});
