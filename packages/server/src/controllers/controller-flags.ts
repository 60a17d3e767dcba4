import { controllers } from '@cluster-apiserver/controllers';
import { list, path } from '../flags/flag.ts';

export const controllerFlags = {
  controllers: list(
    `Controllers to run: * for all, name for one, -name for all but one. There are ${Object.keys(controllers).join(', ')}.`,
    '*',
  ),
  'root-ca-file': path(
    'Certificates in PEM with which clients verify this server; published in each namespace and in token Secrets. Defaults to the root of the serving certificate if that contains it.',
  ),
};
