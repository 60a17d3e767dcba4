// An operator as kubebuilder lays it out: a controller with a finalizer and a status, webhooks of admission and conversion,
// a cached client and leader election. The arguments are a kubeconfig, the folder of tls.crt and tls.key, and the port of the webhooks.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	exitOn(err)
	config.QPS = -1 // no limit of its own
	port, err := strconv.Atoi(os.Args[3])
	exitOn(err)
	scheme := newScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: os.Args[2]}),
		LeaderElection:                true,
		LeaderElectionID:              "lamps." + group,
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(6 * time.Second),
		RenewDeadline:                 ptr.To(4 * time.Second),
		RetryPeriod:                   ptr.To(time.Second),
	})
	exitOn(err)
	exitOn(ctrl.NewControllerManagedBy(manager).For(&Lamp{}).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{manager.GetClient()}))
	exitOn(ctrl.NewWebhookManagedBy(manager, &Lamp{}).WithDefaulter(&rules{}).WithValidator(&rules{}).Complete())
	exitOn(manager.Start(ctrl.SetupSignalHandler()))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type reconciler struct{ client.Client }

// A lamp that is lit has a ConfigMap with its power. One that is deleted leaves another one, which says so.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	lamp := &Lamp{}
	if err := r.Get(ctx, request.NamespacedName, lamp); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !lamp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.switchOff(ctx, lamp)
	}
	if controllerutil.AddFinalizer(lamp, finalizer) {
		return ctrl.Result{}, r.Update(ctx, lamp)
	}
	power := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: lamp.Namespace, Name: "power-" + lamp.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, power, func() error {
		power.Data = map[string]string{"watts": fmt.Sprint(lamp.Spec.Watts)}
		return controllerutil.SetControllerReference(lamp, power, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if lamp.Status.Lit && lamp.Status.ObservedGeneration == lamp.Generation {
		return ctrl.Result{}, nil
	}
	lamp.Status.Lit = true
	lamp.Status.ObservedGeneration = lamp.Generation
	return ctrl.Result{}, r.Status().Update(ctx, lamp)
}

func (r *reconciler) switchOff(ctx context.Context, lamp *Lamp) error {
	if !controllerutil.ContainsFinalizer(lamp, finalizer) {
		return nil
	}
	off := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: lamp.Namespace, Name: "off-" + lamp.Name}}
	if err := r.Create(ctx, off); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	controllerutil.RemoveFinalizer(lamp, finalizer)
	return r.Update(ctx, lamp)
}

type rules struct{}

func (*rules) Default(_ context.Context, lamp *Lamp) error {
	if lamp.Spec.Watts == 0 {
		lamp.Spec.Watts = defaultWatts
	}
	return nil
}

func (*rules) ValidateCreate(_ context.Context, lamp *Lamp) (admission.Warnings, error) {
	if lamp.Spec.Watts > 100 {
		return nil, fmt.Errorf("spec.watts: %d are too many", lamp.Spec.Watts)
	}
	return nil, nil
}

func (r *rules) ValidateUpdate(ctx context.Context, before, after *Lamp) (admission.Warnings, error) {
	if before.Spec.Color != after.Spec.Color {
		return nil, fmt.Errorf("spec.color: a lamp keeps its color")
	}
	return r.ValidateCreate(ctx, after)
}

func (*rules) ValidateDelete(context.Context, *Lamp) (admission.Warnings, error) { return nil, nil }
