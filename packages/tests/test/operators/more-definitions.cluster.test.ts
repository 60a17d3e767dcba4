import { describePublications } from './definitions-suite.ts';

// `npm run faults` fetches the modules that this file names.
describePublications([
  {
    module: 'github.com/kedacore/keda/v2',
    definitions: 'config/crd/bases',
    samples: { in: ['config/samples'], count: 5 },
    invalid: { 'scaledjob.yaml': 'has no template' },
    explained: { field: 'scaledobject.spec.maxReplicaCount', type: 'integer' },
  },
  {
    module: 'github.com/fluxcd/source-controller',
    definitions: 'config/crd/bases',
    samples: { in: ['config/samples', 'config/testdata'], count: 28 },
    explained: { field: 'gitrepository.spec.interval', type: 'string' },
  },
]);
