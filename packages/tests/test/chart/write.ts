// Writes the generated parts of the chart: node --conditions=source packages/tests/test/chart/write.ts
import fs from 'node:fs';
import path from 'node:path';
import { chart, monitoringCopy, monitoringFiles, monitoringSource } from './chart-files.ts';
import { readmeText, schemaText } from './generated.ts';

fs.writeFileSync(path.join(chart, 'values.schema.json'), schemaText());
fs.writeFileSync(path.join(chart, 'README.md'), readmeText());

console.log('The generated parts of the chart are written.');

if (fs.existsSync(monitoringSource)) fs.rmSync(monitoringCopy, { recursive: true, force: true });
for (const [file, content] of monitoringFiles(monitoringSource)) {
  fs.mkdirSync(path.dirname(path.join(monitoringCopy, file)), { recursive: true });
  fs.writeFileSync(path.join(monitoringCopy, file), content);
}
