#!/usr/bin/env node
// npm run images: builds the images of docker-compose.yml on the engine of DOCKER_HOST or of this machine, also without a registry.
import { buildImages } from './build-images.mjs';
import { findEngine } from './engine.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';

await main(async () => {
  const { node, env } = prepare();
  const found = await findEngine(env, { mayStart: false });
  if (found.reason) throw new Failure(`The images cannot be built: ${found.reason}.`);
  await buildImages({ node, env: found.env });
  return 0;
});
