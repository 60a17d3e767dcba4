#!/usr/bin/env bash
# kubectl-case.sh SOURCES PORT CASE: runs a case of Kubernetes' command tests of kubectl (test/cmd in its sources) against the
# server at the port, as the administrator of ADMIN_TOKEN.
set -o errexit -o nounset -o pipefail
cd "$1"
# For the scripts, which build and start everything themselves otherwise.
export KUBE_ROOT="$1" SECURE_API_PORT="$2" ALLOW_SKEW=1 LANG=C TERM="${TERM:-dumb}"
KUBE_JUNIT_REPORT_DIR=$(mktemp -d)
export KUBE_JUNIT_REPORT_DIR
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::util::ensure-temp-dir
trap 'stop-proxy; rm -rf "$KUBE_TEMP" "$KUBE_JUNIT_REPORT_DIR"' EXIT
kube::util::ensure-gnu-sed
# The scripts change the configuration and the home of the user.
export HOME="$KUBE_TEMP"
unset KUBECONFIG
CONTEXT=test
kubectl config set-credentials test-admin --token "$ADMIN_TOKEN"
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
SUPPORTED_RESOURCES=(
  namespaces configmaps secrets serviceaccounts clusterroles roles customresourcedefinitions csr
  subjectaccessreviews selfsubjectreviews
)
export SUPPORTED_RESOURCES
# The only one whose name has another ending.
run_secrets_tests() { run_secrets_test; }
WHAT="$3"
runTests
