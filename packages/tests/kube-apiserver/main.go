// The kube-apiserver of a release of k8s.io/kubernetes. `go install` cannot build it, because its go.mod replaces modules.
package main

import (
	"os"

	_ "time/tzdata" // offsets of time zones in CEL expressions

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
