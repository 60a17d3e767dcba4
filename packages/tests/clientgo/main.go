// Shared informers of client-go, typed and dynamic, on the service accounts of all namespaces. Each line of the output is
// the state of both caches after a change: {"typed": {"namespace/name": "resourceVersion"}, "dynamic": {…}}.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const reportInterval = 200 * time.Millisecond

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: clientgo KUBECONFIG"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	fail(err)
	typed, err := kubernetes.NewForConfig(config)
	fail(err)
	untyped, err := dynamic.NewForConfig(config)
	fail(err)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	typedFactory := informers.NewSharedInformerFactory(typed, 0)
	untypedFactory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	stores := map[string]cache.Store{
		"typed":   typedFactory.Core().V1().ServiceAccounts().Informer().GetStore(),
		"dynamic": untypedFactory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Informer().GetStore(),
	}
	typedFactory.Start(ctx.Done())
	untypedFactory.Start(ctx.Done())

	last := ""
	for ctx.Err() == nil {
		state, err := json.Marshal(versionsOf(stores))
		fail(err)
		if string(state) != last {
			last = string(state)
			fmt.Println(last)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reportInterval):
		}
	}
}

func versionsOf(stores map[string]cache.Store) map[string]map[string]string {
	versions := map[string]map[string]string{}
	for name, store := range stores {
		versions[name] = map[string]string{}
		for _, item := range store.List() {
			object, err := meta.Accessor(item)
			fail(err)
			versions[name][object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
		}
	}
	return versions
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
