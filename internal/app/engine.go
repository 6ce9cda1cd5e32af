// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	notify "github.com/yuba-dev/yuba/internal/gitops/notify/controller"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/kit/footprint"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/kit/names"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/outages/book"
	breakers "github.com/yuba-dev/yuba/internal/outages/controller"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/backend/local"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/stacks/review"
	"github.com/yuba-dev/yuba/internal/telemetry"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Common are the options that both homes share.
type Common struct {
	// DataDir holds everything that outlives the process.
	DataDir string
	// BlobURL is where blobs are kept, such as s3://bucket; empty means in DataDir.
	BlobURL string
	// Tofu is the program that runs use by default; empty means the first tofu (else terraform) beside yuba or on
	// PATH, else the newest of Tools.
	Tofu string
	// ProviderMirror is a filesystem mirror that providers are taken from before the network is asked; empty means
	// DataDir/providers.
	ProviderMirror string
	// ProviderStore is where downloaded providers are kept for all stacks; empty means DataDir/provider-store, and
	// NoProviderStore nowhere. ProviderStoreUnused and ProviderStoreBytes bound what is kept of what no stack uses.
	ProviderStore       string
	ProviderStoreUnused time.Duration
	ProviderStoreBytes  int64
	// Tools is a directory with other versions of tofu and terraform, side by side; empty means DataDir/tools.
	Tools string
	// FetchTofu has a server that finds no tofu fetch one from ToolSource into that directory.
	FetchTofu  bool
	ToolSource opentofu.Source
	// AllowBreakTheGlass lets administrators open shells in working directories. The embedded home always does.
	AllowBreakTheGlass bool
	// Concurrency is how many runs are carried out at a time; 0 means one for each core, at least two.
	Concurrency int
	// NamespaceConcurrency is how many of them one namespace may have; 0 means any number.
	NamespaceConcurrency int
	// RunTimeout is how long one tofu process may take before it is asked to stop, and MaxArchive how many bytes a source
	// archive may have; 0 means run.DefaultLimits'.
	RunTimeout time.Duration
	MaxArchive int64
	// SQLiteSources are the directories below which registries of tenants may read SQLite files; none by default.
	SQLiteSources []string
	// RequireConfinement refuses to start where a wall around programs is missing.
	RequireConfinement bool
	// RunNetwork is run.NoNetwork for runs that connect to nobody; empty means the machine's network. RunListen are the
	// ports that programs may listen on, beside those that the kernel chooses.
	RunNetwork string
	RunListen  []uint16
	// RunResources are what a run may take at one moment with all that it starts, NamespaceResources what all runs of a
	// namespace may together, and RunOpenFiles how many files and connections each process may have open. Nil means what
	// package run says.
	RunResources, NamespaceResources *run.Resources
	RunOpenFiles                     *int64
	// WebhookCerts has a directory for each host of a webhook that wants a client certificate (tls.crt, tls.key) or whose
	// authority is not one of the system's (ca.crt); empty means none.
	WebhookCerts string
	// Circuits says what an outage is that many stacks suffer from; without Stacks, none is seen.
	Circuits book.Options
	// AllowCrossNamespace lets stacks name sources of other namespaces, and depend on stacks there.
	AllowCrossNamespace bool
	// TenantEnvPrefixes begin the keys of varsFrom that go into the environment of tenants' stacks when their programs
	// declare no such variable.
	TenantEnvPrefixes []string
	// leaveTenants says why somebody else looks after tenants; empty means that this server does.
	leaveTenants string
	// FileSources are the directories below which git repositories are read by file:// URLs; none by default.
	FileSources []string
	// Retention says what of runs and states is kept.
	Retention Retention
	// DefaultServiceAccount is the service account, of each its own namespace, whose rights Kustomizations have that name
	// none; empty means all rights.
	DefaultServiceAccount string
	// GitOps has this server do what Flux does on a cluster: fetch sources, apply Kustomizations, take and send
	// notifications. The embedded home always does.
	GitOps bool
	// EventsAddr is where every event is posted to, in the form that Flux's notification-controller takes; empty means nowhere.
	EventsAddr string
	// MetricsAddress is host:port where metrics are served to whoever asks, beside where they are served to those who may;
	// empty means nowhere. MetricsPerObject adds those that name objects.
	MetricsAddress   string
	MetricsPerObject bool
	// Connections are how many all listeners may have together; NewBudget() says how many there can be.
	Connections listener.Budget
	// Out is told that the server is ready, and where. News is told what it does, unless Quiet; nil for nobody.
	Out, News io.Writer
	Quiet     bool
	// LogFormat is "text" or "json".
	LogFormat string
	Verbose   bool
	Version   string
	Log       *slog.Logger
}

// engine is everything that works on an API, whoever serves that.
type engine struct {
	opts     Common
	dir      datadir.Dir
	blobs    *blob.Store
	states   *state.Store
	executor *executor.Executor
	local    *local.Local
	manager  ctrl.Manager
	content  *content.Handler
	endpoint *endpoint
	ended    chan run.Stack
	// events records what happens to objects, for all controllers.
	events events.EventRecorder
	// dispatcher tells of events and receivers takes webhooks; nil where Flux does.
	dispatcher *notify.Dispatcher
	receivers  *receive.Receivers
	// breath is how much garbage may gather; it asks who has work.
	breath footprint.Breath
	// circuits sees outages; nil where the API does not serve their kind.
	circuits *breakers.Keeper
	// tenants is true when this server looks after tenants: the API serves their kinds.
	tenants atomic.Bool
	// collects throw away what nobody needs, beside source archives.
	collects []func(context.Context) error
	// keeper throws away what runs left and nobody needs.
	keeper *keeper
	// metrics and tracer tell machines what happens.
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer
	store   storeLook
	tool    tool
	tools   *tools.Box
	started time.Time
	// narrator tells the person who started the server what it does.
	narrator *narrator
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(infrav1.AddToScheme(scheme))
	utilruntime.Must(yubav1.AddToScheme(scheme))
	utilruntime.Must(tenantv1.AddToScheme(scheme))
	utilruntime.Must(sourcev1.AddToScheme(scheme))
	utilruntime.Must(kustomizev1.AddToScheme(scheme))
	utilruntime.Must(notificationv1.AddToScheme(scheme))
	utilruntime.Must(notificationv1beta3.AddToScheme(scheme))
	return scheme
}

// certificate is a tls.Config's GetCertificate.
type certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// newEngine builds the engine on an API. kinds are the kinds of sources that the API serves.
func newEngine(ctx context.Context, opts Common, dir datadir.Dir, config *rest.Config, t tool) (_ *engine, err error) {
	e := &engine{opts: opts, dir: dir, tool: t, ended: make(chan run.Stack, 4096), started: time.Now().UTC(), narrator: newNarrator(&opts)}
	go e.narrator.tell(ctx)
	if e.blobs, err = openBlobs(ctx, opts, dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.stopTelemetry(context.WithoutCancel(ctx))
			err = errors.Join(err, e.blobs.Close())
		}
	}()
	ctrl.SetLogger(logr.FromSlogHandler(quieter{opts.Log.With("component", "controller").Handler(), ctx.Done()}))
	if config, err = e.addTelemetry(ctx, config); err != nil {
		return nil, err
	}
	e.manager, err = ctrl.NewManager(config, managerOptions())
	if err != nil {
		return nil, fmt.Errorf("make the controller manager: %w", err)
	}
	e.events = e.manager.GetEventRecorder("yuba")
	if err := e.addNotifications(); err != nil {
		return nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: e.manager.GetScheme(), Mapper: e.manager.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	direct = names.Client{Client: direct}
	e.states = state.New(direct, e.blobs).Watching(e.manager.GetCache())
	if err := e.addControllers(ctx, direct); err != nil {
		return nil, err
	}
	return e, nil
}

// managerOptions keep what nobody needs out of memory: of Secrets and ConfigMaps only metadata is watched, and no
// cache is ever asked for their contents.
func managerOptions() ctrl.Options {
	return ctrl.Options{
		Scheme: newScheme(), NewClient: names.New,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields(),
			// Of Leases only those that lock states are of interest; a cluster's nodes renew theirs all the time.
			ByObject: map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Label: state.Leases()}}},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &coordinationv1.Lease{}}}},
	}
}

func openBlobs(ctx context.Context, opts Common, dir datadir.Dir) (*blob.Store, error) {
	key, err := blob.LoadOrCreateKey(dir.BlobKey())
	if err != nil {
		return nil, err
	}
	url := opts.BlobURL
	if url == "" {
		url = "file://" + dir.Blobs()
	}
	return blob.Open(ctx, url, key)
}

// limits are what one run may take on this server.
func (o Common) limits() run.Limits {
	l := run.DefaultLimits()
	if o.RunTimeout > 0 {
		l.Timeout = run.Duration(o.RunTimeout)
	}
	if o.MaxArchive > 0 {
		l.ArchiveBytes = o.MaxArchive
	}
	if o.RunResources != nil {
		l.Run = *o.RunResources
	}
	if o.NamespaceResources != nil {
		l.Namespace = *o.NamespaceResources
	}
	if o.RunOpenFiles != nil {
		l.OpenFiles = *o.RunOpenFiles
	}
	l.Listen = o.RunListen
	if o.RunNetwork == run.NoNetwork {
		l.Network = run.NoNetwork
	}
	return l
}

// addControllers has the manager run all controllers, and all that they work with.
func (e *engine) addControllers(ctx context.Context, direct client.Client) error {
	r := e.stackReconciler(direct)
	e.keeper = newKeeper(&keeper{keep: e.opts.Retention, states: e.states, names: e.blobs, stacks: e.manager.GetClient(), now: time.Now, log: e.opts.Log})
	if err := e.makeExecutor(r); err != nil {
		return err
	}
	e.keeper.runs = e.executor
	if err := e.resume(ctx, direct); err != nil {
		return err
	}
	r.Runs, r.Observe = e.executor, e.observeDecision
	kinds, err := servedSources(e.manager)
	if err != nil {
		return err
	}
	if err := e.addCircuits(ctx, direct, r); err != nil {
		return err
	}
	if err := r.SetupWithManager(ctx, e.manager, e.ended, kinds); err != nil {
		return fmt.Errorf("set up the stack controller: %w", err)
	}
	if err := e.addTenants(ctx, direct); err != nil {
		return err
	}
	if e.opts.GitOps {
		if err := e.addGitOps(ctx, direct); err != nil {
			return err
		}
	}
	e.content = e.contentHandler(direct)
	if err := e.addCollectors(direct, kinds); err != nil {
		return err
	}
	e.tools = tools.NewBox(e.tool.path, e.toolDir())
	e.serveByHand(r)
	e.serveWhy(r)
	return nil
}

// archiveClient downloads the archives of sources that others fetched.
func archiveClient() *http.Client {
	const redirects = 10
	return outbound.Client(outbound.Options{Timeout: stacks.FetchTimeout, Connect: 30 * time.Second, Redirects: redirects})
}

// stackReconciler is the stack controller's. It lacks the executor, which asks it for permissions.
func (e *engine) stackReconciler(direct client.Client) *stacks.Reconciler {
	return &stacks.Reconciler{
		Client: e.manager.GetClient(), Reader: direct, Stacks: fresh.New(e.manager.GetCache(), direct), Events: e.events, States: e.states,
		Source:              &stacks.Sources{Reader: direct, Store: e.blobs, MaxArchive: e.opts.limits().ArchiveBytes, HTTP: archiveClient(), Ours: e.ownArchive},
		AllowCrossNamespace: e.opts.AllowCrossNamespace, Limits: e.opts.limits(), Now: time.Now, Log: e.opts.Log,
		Webhooks: &review.Client{Certs: e.opts.WebhookCerts}, TenantEnvPrefixes: e.opts.TenantEnvPrefixes,
	}
}

// makeExecutor makes what carries out runs. The stack controller says how far each of them may go.
func (e *engine) makeExecutor(r *stacks.Reconciler) error {
	e.local = &local.Local{Dir: e.dir.Runner(), Log: e.opts.Log}
	credential, err := e.local.ReadCredential()
	if err != nil {
		return err
	}
	if credential == "" {
		credential = run.NewToken()
	}
	type ask = func(context.Context, run.Record, *run.PlanResult) (bool, string, error)
	permission := func(ask ask) func(context.Context, run.Record, *run.PlanResult) (executor.Permission, error) {
		return func(ctx context.Context, rec run.Record, p *run.PlanResult) (executor.Permission, error) {
			ok, reason, err := ask(ctx, rec, p)
			return executor.Permission{Go: ok, Reason: reason}, err
		}
	}
	e.executor, err = executor.New(executor.Options{
		Backend: e.local,
		Blobs:   e.blobs, States: e.states, LiveDir: filepath.Join(e.dir.Runner(), "live"), ShellDir: e.shellDir(), Credential: credential,
		Holder: holder(), Version: e.opts.Version, Log: e.opts.Log, Ended: e.announce, NamespaceLimit: e.namespaceLimit, Busy: e.breath.Voice(),
		Observe: func(rec run.Record) {
			e.observeRun(rec)
			e.narrator.run(rec)
			e.keeper.observe(rec)
		},
		Permit: permission(r.Permit), Review: permission(r.Review), Changing: r.Changing,
	})
	return err
}

// contentHandler serves what objects have no room for.
func (e *engine) contentHandler(direct client.Client) *content.Handler {
	return &content.Handler{StoreID: e.blobs.ID(), Client: direct, Reader: direct, Runs: e.executor, States: e.states, Artifacts: e.blobs,
		MaxArchive: e.opts.limits().ArchiveBytes, Holder: holder(), Version: e.opts.Version, Log: e.opts.Log, Server: e.info,
		Providers: e.storedProviders, RemoveProvider: e.removeProvider, Queue: e.queue, Figures: e.figures, Metrics: e.metrics.Handler()}
}

// addCollectors has what nobody needs any more thrown away.
func (e *engine) addCollectors(direct client.Client, kinds []string) error {
	garbage := &collector{reader: direct, scheme: e.manager.GetScheme(), blobs: e.blobs, runs: e.executor, kinds: kinds}
	err := e.manager.Add(manager.RunnableFunc(func(ctx context.Context) error { return e.collectGarbage(ctx, garbage) }))
	if err != nil {
		return err
	}
	return e.manager.Add(manager.RunnableFunc(e.keeper.throwAway))
}

// resume takes up the runs that an earlier server left, before any runner is heard: only then is it true that a run
// which nobody here knows is wanted by nobody.
func (e *engine) resume(ctx context.Context, direct client.Reader) error {
	next := ""
	for {
		var stacks infrav1.TerraformList
		if err := direct.List(ctx, &stacks, client.Limit(500), client.Continue(next)); err != nil {
			return fmt.Errorf("look for runs in hand: %w", err)
		}
		for _, s := range stacks.Items {
			if s.Status.CurrentRun == nil {
				continue
			}
			stack := run.Stack{Namespace: s.Namespace, Name: s.Name, UID: string(s.UID)}
			// One record that cannot be read must not keep the others waiting; the stack's own controller deals with it.
			if _, err := e.executor.Resume(ctx, stack, s.Status.CurrentRun.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
				e.opts.Log.Error("taking up a run", "stack", stack.String(), "run", s.Status.CurrentRun.ID, "error", err)
			}
		}
		if next = stacks.Continue; next == "" {
			return nil
		}
	}
}

// announce tells the stack controller that a run ended. The executor must not wait, so a full channel is emptied by a
// goroutine of its own.
func (e *engine) announce(s run.Stack) {
	select {
	case e.ended <- s:
	default:
		go func() { e.ended <- s }()
	}
}

func (e *engine) info(ctx context.Context) content.ServerInfo {
	inHand, waiting := e.executor.Busy()
	installed := e.tools.List(ctx)
	for i := range installed {
		installed[i].Runner = hostname()
	}
	return content.ServerInfo{Version: e.opts.Version, Tool: e.tool.path, ToolVersion: e.tool.version,
		Confined: e.tool.walls.Complete(), Walls: e.tool.walls.Summary(), MissingWalls: e.tool.missingWalls(), Started: e.started, Waiting: waiting, Running: inHand - waiting, Tools: installed}
}

// servedSources says which of the kinds a stack's source can have this API serves.
func servedSources(m ctrl.Manager) ([]string, error) {
	var kinds []string
	for _, kind := range []string{infrav1.SourceKindExternalArtifact, infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket} {
		_, err := m.GetRESTMapper().RESTMapping(sourcev1.GroupVersion.WithKind(kind).GroupKind(), sourcev1.GroupVersion.Version)
		switch {
		case err == nil:
			kinds = append(kinds, kind)
		case !isNoMatch(err):
			return nil, fmt.Errorf("ask the API for the kind %s: %w", kind, err)
		}
	}
	return kinds, nil
}

// holder names this server in locks: user@host, as tofu does.
func holder() string {
	name := "yuba"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + strings.ToLower(host)
}
