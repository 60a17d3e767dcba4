// Programs of client-go, for tests that start them beside the server.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var commands = map[string]func(ctx context.Context, config *rest.Config, args []string) error{
	"informers": runInformers,
	"elect":     runCandidate,
	"record":    runRecorders,
	"follow":    runFollowers,
}

func main() {
	if len(os.Args) < 3 || commands[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: clientgo informers|elect|record|follow KUBECONFIG ARGUMENT …"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	fail(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	fail(commands[os.Args[1]](ctx, config, os.Args[3:]))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
