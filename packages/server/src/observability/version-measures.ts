import type { FeatureGates } from '@cluster-apiserver/config';
import type { VersionInfo } from '@cluster-apiserver/pipeline';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** The metrics of kube-apiserver for version and feature gates. */
export function publishVersion(metrics: Metrics, about: VersionInfo, gates: Pick<FeatureGates, 'all'>): void {
  metrics
    .gauge<string>({
      name: 'kubernetes_build_info',
      help: "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
      labels: {
        major: 'any',
        minor: 'any',
        git_version: 'any',
        git_commit: 'any',
        git_tree_state: 'any',
        build_date: 'any',
        go_version: 'any',
        compiler: 'any',
        platform: 'any',
      },
    })
    .set(
      {
        major: about.major,
        minor: about.minor,
        git_version: about.gitVersion,
        git_commit: about.gitCommit,
        git_tree_state: about.gitTreeState,
        build_date: about.buildDate,
        go_version: about.goVersion,
        compiler: about.compiler,
        platform: about.platform,
      },
      1,
    );
  const features = metrics.gauge({
    name: 'kubernetes_feature_enabled',
    help: 'This metric records the data about the stage and enablement of a k8s feature.',
    labels: { name: gates.all.map(({ name }) => name), stage: 'any' },
  });
  for (const { name, stage, enabled } of gates.all) features.set({ name, stage: stage.toUpperCase() }, enabled ? 1 : 0);
}
