package main

import (
	"context"
	"fmt"
	"os"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

const (
	repeats = 5
	// More than the recorder keeps apart.
	similar = 15
)

// Records events about a ConfigMap that is called like its namespace, with both recorders of client-go, until the input
// ends. The one of core/v1 counts repeats, and combines similar events into one; the one of events.k8s.io makes a series.
func runRecorders(ctx context.Context, config *rest.Config, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: clientgo record KUBECONFIG NAMESPACE")
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	about := &core.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: args[0], Name: args[0]}

	counting := record.NewBroadcaster(record.WithContext(ctx))
	defer counting.Shutdown()
	counting.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	counts := counting.NewRecorder(scheme.Scheme, core.EventSource{Component: "counts"})
	for range repeats {
		counts.Event(about, core.EventTypeNormal, "Repeated", "the same again")
	}
	for number := range similar {
		counts.Eventf(about, core.EventTypeWarning, "Similar", "number %d", number)
	}

	inSeries := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer inSeries.Shutdown()
	if err := inSeries.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	series := inSeries.NewRecorder(scheme.Scheme, "series")
	series.Eventf(about, nil, core.EventTypeNormal, "Once", "Recording", "it happened")
	for range repeats {
		series.Eventf(about, nil, core.EventTypeNormal, "Repeated", "Recording", "the same again")
	}

	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}
