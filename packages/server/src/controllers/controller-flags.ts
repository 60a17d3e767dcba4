import { controllers } from '@cluster-apiserver/controllers';
import { list } from '../flags/flag.ts';

export const controllerFlags = {
  controllers: list(
    `Controllers to run: * for all, name for one, -name for all but one. There are ${Object.keys(controllers).join(', ')}.`,
    '*',
  ),
};
