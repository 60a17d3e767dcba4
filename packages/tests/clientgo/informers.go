package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The caches of one resource, by the kind of informer that fills them: "typed", unless client-go has no type for it,
// "metadata" and "dynamic".
type caches map[string]cache.Store

// What the caches of one resource contain.
type state struct {
	// The resourceVersions by namespace/name, by the kind of informer.
	Versions map[string]map[string]string `json:"versions"`
	// Objects whose contents differ between informers that have the same version of them. The typed ones were read as
	// protobuf, the dynamic ones as JSON.
	Unequal []string `json:"unequal"`
}

// Shared informers of all namespaces on the resources that the arguments name as VERSION/RESOURCE or
// GROUP/VERSION/RESOURCE, until the input ends. Each line of the input is answered by a line with the states of all.
func runInformers(ctx context.Context, config *rest.Config, args []string) error {
	protobuf := rest.CopyConfig(config)
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	protobuf.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return err
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	typedFactory := informers.NewSharedInformerFactory(typed, 0)
	partialFactory := metadatainformer.NewSharedInformerFactory(partial, 0)
	untypedFactory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	resources := map[string]caches{}
	for _, name := range args {
		resource, err := parseResource(name)
		if err != nil {
			return err
		}
		resources[name] = caches{
			"metadata": partialFactory.ForResource(resource).Informer().GetStore(),
			"dynamic":  untypedFactory.ForResource(resource).Informer().GetStore(),
		}
		// It fails if client-go has no type, as for custom resources.
		if informer, err := typedFactory.ForResource(resource); err == nil {
			resources[name]["typed"] = informer.Informer().GetStore()
		}
	}
	typedFactory.Start(ctx.Done())
	partialFactory.Start(ctx.Done())
	untypedFactory.Start(ctx.Done())

	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		states := map[string]state{}
		for name, caches := range resources {
			if states[name], err = stateOf(caches); err != nil {
				return err
			}
		}
		if err := json.NewEncoder(os.Stdout).Encode(states); err != nil {
			return err
		}
	}
	return nil
}

func parseResource(name string) (schema.GroupVersionResource, error) {
	switch parts := strings.Split(name, "/"); len(parts) {
	case 2:
		return schema.GroupVersionResource{Version: parts[0], Resource: parts[1]}, nil
	case 3:
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("not a resource: %s", name)
}

func stateOf(stores caches) (state, error) {
	contents := map[string]map[string]runtime.Object{}
	found := state{Versions: map[string]map[string]string{}, Unequal: []string{}}
	for kind, store := range stores {
		contents[kind] = map[string]runtime.Object{}
		found.Versions[kind] = map[string]string{}
		for _, item := range store.List() {
			object := item.(runtime.Object)
			accessor, err := meta.Accessor(object)
			if err != nil {
				return found, err
			}
			name := accessor.GetNamespace() + "/" + accessor.GetName()
			contents[kind][name] = object
			found.Versions[kind][name] = accessor.GetResourceVersion()
		}
	}
	for name, object := range contents["dynamic"] {
		for _, kind := range []string{"typed", "metadata"} {
			other, isThere := contents[kind][name]
			if !isThere || found.Versions[kind][name] != found.Versions["dynamic"][name] {
				continue
			}
			if equal, err := isEqual(object.(*unstructured.Unstructured), other, kind); err != nil {
				return found, err
			} else if !equal {
				found.Unequal = append(found.Unequal, kind+" "+name)
			}
		}
	}
	return found, nil
}

// isEqual compares as the type of the other one: its metadata, and all of it if it is typed. Lists of typed clients leave
// out the apiVersion and kind of their items.
func isEqual(dynamic *unstructured.Unstructured, other runtime.Object, kind string) (bool, error) {
	converted := reflect.New(reflect.TypeOf(other).Elem()).Interface().(runtime.Object)
	content := dynamic.Object
	if kind == "metadata" {
		content = map[string]any{"metadata": dynamic.Object["metadata"]}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, converted); err != nil {
		return false, err
	}
	other = other.DeepCopyObject()
	for _, object := range []runtime.Object{converted, other} {
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return equality.Semantic.DeepEqual(converted, other), nil
}
