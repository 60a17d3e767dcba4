package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const informersPerConnection = 25

// What all informers have seen and done.
type followed struct {
	// By the name of an object: the sequences of resourceVersions that its informers reported, and how many did so.
	Seen map[string][]sequence `json:"seen"`
	// Initial states that they have read, by a list or by a watch.
	Lists int64 `json:"lists"`
	// Watches that they have opened.
	Watches int64 `json:"watches"`
}

type sequence struct {
	Versions  []string `json:"versions"`
	Informers int      `json:"informers"`
}

// An informer on one object.
type follower struct {
	name     string
	mutex    sync.Mutex
	versions []string
}

func (f *follower) note(object any) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.versions = append(f.versions, object.(*core.ServiceAccount).ResourceVersion)
}

// Informers on single ServiceAccounts of a namespace, until the input ends: COUNT of them, each NAME has as many as the
// others. Each line of the input is answered by a line of what they have seen and done.
func runFollowers(ctx context.Context, config *rest.Config, args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: clientgo follow KUBECONFIG NAMESPACE COUNT NAME …")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	names := args[2:]
	var lists, watches atomic.Int64
	var client kubernetes.Interface
	followers := make([]*follower, count)
	for at := range followers {
		if at%informersPerConnection == 0 {
			if client, err = clientWithOwnConnection(config); err != nil {
				return err
			}
		}
		one := &follower{name: names[at%len(names)]}
		followers[at] = one
		source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "serviceaccounts", args[0],
			fields.OneTermEqualSelector("metadata.name", one.name))
		informer := cache.NewSharedInformer(counted(source, &lists, &watches), &core.ServiceAccount{}, 0)
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    one.note,
			UpdateFunc: func(_, object any) { one.note(object) },
		}); err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
	}

	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		found := followed{Seen: seenBy(followers), Lists: lists.Load(), Watches: watches.Load()}
		if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
			return err
		}
	}
	return nil
}

// client-go shares the connections of equal configurations. One with a function that dials has its own.
func clientWithOwnConnection(config *rest.Config) (kubernetes.Interface, error) {
	own := rest.CopyConfig(config)
	own.Dial = (&net.Dialer{}).DialContext
	own.QPS = -1
	own.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(own)
}

func counted(source *cache.ListWatch, lists, watches *atomic.Int64) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options meta.ListOptions) (runtime.Object, error) {
			lists.Add(1)
			return source.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options meta.ListOptions) (watch.Interface, error) {
			watches.Add(1)
			if options.SendInitialEvents != nil && *options.SendInitialEvents {
				lists.Add(1)
			}
			return source.WatchWithContext(ctx, options)
		},
	}
}

func seenBy(followers []*follower) map[string][]sequence {
	seen := map[string][]sequence{}
	for _, one := range followers {
		one.mutex.Lock()
		versions := append([]string{}, one.versions...)
		one.mutex.Unlock()
		seen[one.name] = count(seen[one.name], versions)
	}
	return seen
}

func count(sequences []sequence, versions []string) []sequence {
	for at := range sequences {
		if fmt.Sprint(sequences[at].Versions) == fmt.Sprint(versions) {
			sequences[at].Informers++
			return sequences
		}
	}
	return append(sequences, sequence{Versions: versions, Informers: 1})
}
