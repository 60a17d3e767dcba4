package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Shorter than the defaults of client-go. A leader that cannot renew tries to release, for as long again, before it stops:
// both must fit into the duration of the lease.
const (
	leaseDuration = 10 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = time.Second
)

// A candidate for a Lease, until it is terminated: it then releases the Lease. Each line of the output is the start or the
// end of a time in which it leads, by the monotonic clock of the machine: {"leads": true, "atMs": 1234.5}.
func runCandidate(ctx context.Context, config *rest.Config, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: clientgo elect KUBECONFIG NAMESPACE NAME IDENTITY")
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	identity := resourcelock.ResourceLockConfig{Identity: args[2]}
	lease, err := resourcelock.New(
		resourcelock.LeasesResourceLock, args[0], args[1], client.CoreV1(), client.CoordinationV1(), identity)
	if err != nil {
		return err
	}
	lock := &reportingLock{Interface: lease}
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock:            lock,
			LeaseDuration:   leaseDuration,
			RenewDeadline:   renewDeadline,
			RetryPeriod:     retryPeriod,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {},
				OnStoppedLeading: func() { lock.report(false) },
			},
		})
		if err != nil {
			return err
		}
		elector.Run(ctx)
	}
	return nil
}

// A lock that reports the longest time in which its holder can lead: from the answer of the server until it begins to
// release. The callbacks of the elector begin later, and end after the release.
type reportingLock struct {
	resourcelock.Interface
	leads bool
}

func (lock *reportingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := lock.Interface.Create(ctx, record)
	if err == nil {
		lock.report(true)
	}
	return err
}

func (lock *reportingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	isRelease := record.HolderIdentity == ""
	if isRelease {
		lock.report(false)
	}
	err := lock.Interface.Update(ctx, record)
	if err == nil && !isRelease {
		lock.report(true)
	}
	return err
}

func (lock *reportingLock) report(leads bool) {
	if lock.leads == leads {
		return
	}
	lock.leads = leads
	var now unix.Timespec
	fail(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	fmt.Printf("{\"leads\": %t, \"atMs\": %.3f}\n", leads, float64(now.Nano())/1e6)
}
