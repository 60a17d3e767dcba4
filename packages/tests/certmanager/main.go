// The programs of cert-manager, made of its packages with what its own flags would choose: `controller KUBECONFIG`,
// `cainjector KUBECONFIG` and `webhook KUBECONFIG PORT`. All but the last one elect a leader.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	webhookconfig "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/util"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	namespace     = "cert-manager"
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = time.Second
)

func main() {
	ctrl.SetLogger(klog.Background())
	ctx := klog.NewContext(ctrl.SetupSignalHandler(), klog.Background())
	kubeconfig := os.Args[2]
	switch os.Args[1] {
	case "controller":
		exitOn(runController(ctx, kubeconfig))
	case "cainjector":
		exitOn(runInjector(ctx, kubeconfig))
	case "webhook":
		exitOn(runWebhook(ctx, kubeconfig, os.Args[3]))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runController(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	identity := fmt.Sprintf("controller-%d", os.Getpid())
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "cert-manager-controller",
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return err
	}
	var failed error
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { failed = lead(ctx, kubeconfig) },
			OnStoppedLeading: func() {},
		},
	})
	return failed
}

func lead(ctx context.Context, kubeconfig string) error {
	options := controller.ContextOptions{Kubeconfig: kubeconfig, KubernetesAPIQPS: 100, KubernetesAPIBurst: 200}
	options.IssuerOptions.ClusterResourceNamespace = namespace
	options.CertificateOptions.CertificateRequestMinimumBackoffDuration = time.Second
	options.CertificateOptions.CertificateRequestMaximumBackoffDuration = time.Minute
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	failed := make(chan error)
	for name, construct := range controller.Known() {
		one, err := construct(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		go func() { failed <- one.Run(2, ctx) }()
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	klog.Info("controllers have started")
	return <-failed
}

func runInjector(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, certmanager.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	config = util.RestConfigWithUserAgent(config, "cainjector") // names its field manager, too
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "cert-manager-cainjector", LeaderElectionNamespace: namespace,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	if err != nil {
		return err
	}
	if err := cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
		},
	}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Its certificate is issued by a CA that it keeps in a Secret, from which the injector takes it.
func runWebhook(ctx context.Context, kubeconfig string, port string) error {
	securePort, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	config := webhookconfig.WebhookConfiguration{
		TypeMeta: metav1.TypeMeta{}, KubeConfig: kubeconfig, SecurePort: int32(securePort), MetricsListenAddress: "0",
	}
	config.TLSConfig.Dynamic.SecretNamespace = namespace
	config.TLSConfig.Dynamic.SecretName = "cert-manager-webhook-ca"
	config.TLSConfig.Dynamic.DNSNames = []string{"cert-manager-webhook.cert-manager.svc"}
	config.TLSConfig.Dynamic.LeafDuration = time.Hour
	server, err := webhook.NewCertManagerWebhookServer(klog.FromContext(ctx), config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
