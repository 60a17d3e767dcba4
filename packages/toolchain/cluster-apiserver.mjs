#!/usr/bin/env node
// cluster-apiserver in a checkout, where it is the command `npx cluster-apiserver` of package.json: builds the program if
// sources have changed, and runs it with the arguments.
import { main } from './project.mjs';
import { runProgram } from './program.mjs';

await main(runProgram);
