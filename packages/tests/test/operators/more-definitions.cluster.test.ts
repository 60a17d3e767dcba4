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
  {
    module: 'github.com/crossplane/crossplane/v2',
    definitions: 'cluster/crds',
    samples: {
      in: ['test/e2e/manifests/apiextensions', 'test/e2e/manifests/ops', 'test/e2e/manifests/protection'],
      count: 64,
    },
    invalid: {
      invalid: 'is named so',
      '/environment/': 'has fields of an earlier version',
      '/validation/mrd': 'is one of several states of an object, between which its rules permit no change',
      '/validation/xrd': 'the same',
    },
    explained: { field: 'compositions.spec.mode', type: 'string' },
  },
  {
    module: 'github.com/argoproj/argo-cd/v2',
    definitions: 'manifests/crds',
    samples: {
      in: ['applicationset/examples', 'docs/operator-manual/application.yaml', 'docs/operator-manual/project.yaml'],
      count: 33,
    },
    invalid: {
      'examples/design-doc/': 'describes an earlier design, without required fields',
      'matrix-and-union-in-matrix': 'nests deeper than the schema',
    },
    explained: { field: 'applications.spec.project', type: 'string' },
  },
  {
    module: 'github.com/argoproj/argo-rollouts',
    definitions: 'manifests/crds',
    samples: { in: ['examples'], count: 28 },
    explained: { field: 'rollout.spec.replicas', type: 'integer' },
  },
  {
    module: 'sigs.k8s.io/cluster-api',
    definitions: 'core/config/crd/bases',
    samples: {
      in: [
        'docs/book/src/security/pod-security-standards.md',
        'docs/book/src/tasks/automated-machine-management',
        'docs/book/src/tasks/cluster-resource-set.md',
        'docs/book/src/tasks/experimental-features/runtime-sdk/implement-extensions.md',
        'docs/book/src/tasks/external-etcd.md',
      ],
      count: 6,
    },
    explained: { field: 'machinedeployments.spec.replicas', type: 'integer' },
  },
  {
    module: 'github.com/tektoncd/pipeline',
    definitions: 'config/300-crds',
    samples: { in: ['examples/v1'], count: 227 },
    invalid: {
      'optional-workspaces.yaml': 'has a step without a name',
      'stepaction-when.yaml': 'has an object that the webhook of Tekton converts',
    },
    explained: { field: 'pipelinerun.spec.timeouts', type: 'Object' },
  },
  {
    module: 'istio.io/api',
    definitions: 'kubernetes',
    samples: { in: ['networking', 'security', 'telemetry', 'extensions'], count: 137 },
    invalid: { 'virtual_service.proto foo-redirect': 'has an unknown field' },
    explained: { field: 'virtualservice.spec.hosts', type: '[]string' },
  },
]);
