// Writes what follows from flags and values: node --conditions=source packages/tests/test/chart/write.ts
import fs from 'node:fs';
import path from 'node:path';
import { chart } from './chart-files.ts';
import { readmeText, schemaText } from './generated.ts';

fs.writeFileSync(path.join(chart, 'values.schema.json'), schemaText());
fs.writeFileSync(path.join(chart, 'README.md'), readmeText());
