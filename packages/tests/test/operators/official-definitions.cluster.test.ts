import { describePublications } from './definitions-suite.ts';

// `npm test` fetches the modules that this file names.
describePublications([
  {
    module: 'github.com/cert-manager/cert-manager',
    definitions: 'deploy/crds',
    samples: { in: ['test/fixtures/cert-manager-resources.yaml'], count: 3 },
    explained: { field: 'certificate.spec.secretName', type: 'string' },
  },
  {
    module: 'sigs.k8s.io/gateway-api',
    definitions: 'config/crd/standard',
    samples: { in: ['examples/standard'], count: 98 },
    explained: { field: 'httproute.spec.hostnames', type: '[]string' },
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    definitions: 'example/prometheus-operator-crd',
    samples: { in: ['example'], count: 27 },
    invalid: {
      'scrapeclass-example-podmonitor.yaml': 'has no selector',
      'scrapeclass-example-servicemonitor.yaml': 'has no selector',
    },
    explained: { field: 'prometheus.spec.replicas', type: 'integer' },
  },
]);
