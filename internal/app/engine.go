// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	applications "github.com/yuba-dev/yuba/internal/applications/controller"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	notify "github.com/yuba-dev/yuba/internal/gitops/notify/controller"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/kit/controllerlog"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/kit/memory"
	"github.com/yuba-dev/yuba/internal/kit/names"
	"github.com/yuba-dev/yuba/internal/kit/namespaced"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	breakers "github.com/yuba-dev/yuba/internal/outages/controller"
	"github.com/yuba-dev/yuba/internal/policy/ledger"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/backend/local"
	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/stacks/review"
	"github.com/yuba-dev/yuba/internal/telemetry"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/blame"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// Common are the options of both homes.
type Common struct {
	// DataDir holds everything that outlives the process.
	DataDir string
	// BlobURL is the URL of the blob store, such as s3://bucket; empty means in DataDir.
	BlobURL string
	// Tofu is the default program of runs; empty means the first tofu (else terraform) beside yuba
	// or on PATH, else the newest in Tools.
	Tofu string
	// ProviderMirror is a filesystem mirror of providers that is preferred to the network; empty
	// means DataDir/providers.
	ProviderMirror string
	// ProviderStore is the directory of downloaded providers for all stacks; empty means
	// DataDir/provider-store, and NoProviderStore disables it. ProviderStoreUnused and
	// ProviderStoreBytes limit unused providers.
	ProviderStore       string
	ProviderStoreUnused time.Duration
	ProviderStoreBytes  int64
	// Tools is a directory with further versions of tofu and terraform, side by side; empty means
	// DataDir/tools.
	Tools string
	// FetchTofu lets a server without tofu download it from ToolSource to that directory.
	FetchTofu  bool
	ToolSource opentofu.Source
	// Bundle has tofu and providers for a server that makes no connections for them.
	Bundle BundleOptions
	// TerraformSource is the origin of Terraform's releases. ToolsAllow are the versions that the server
	// may download because a stack requests them.
	TerraformSource opentofu.Source
	ToolsAllow      opentofu.Allow
	// AllowBreakTheGlass allows administrators to open shells in working directories. The embedded
	// home always allows it.
	AllowBreakTheGlass bool
	// Concurrency is the maximum number of concurrent runs; 0 means one a core, at least two.
	Concurrency int
	// NamespaceConcurrency is the maximum for one namespace; 0 means no limit.
	NamespaceConcurrency int
	// RunTimeout limits each tofu process, which is then asked to stop. MaxArchive limits source
	// archives, in bytes. 0 means run.DefaultLimits'.
	RunTimeout time.Duration
	MaxArchive int64
	// SQLiteSources are the directories in which tenant registries may read SQLite files; none by
	// default.
	SQLiteSources []string
	// RequireConfinement refuses to start if a wall around programs is missing.
	RequireConfinement bool
	// RunNetwork is run.NoNetwork for runs without network, run.IsolatedNetwork for runs that reach
	// only what RunNetworkAllow names; empty means the machine's network. RunListen are ports that
	// programs may listen on, besides those that the kernel chooses.
	RunNetwork      string
	RunNetworkAllow []string
	RunListen       []uint16
	// RunResources limits a run with all its processes, NamespaceResources all runs of a namespace
	// together, and RunOpenFiles the files and connections of each process. Nil means the defaults
	// of package run.
	RunResources, NamespaceResources *run.Resources
	RunOpenFiles                     *int64
	// WebhookCerts contains a directory for each webhook host that requires a client certificate
	// (tls.crt, tls.key) or has a private authority (ca.crt); empty means none.
	WebhookCerts string
	// ContractStoreEndpoints are the servers, each HOST:PORT, on this machine or in private networks that
	// ContractBridges and SecretStores may use; none by default.
	ContractStoreEndpoints []string
	// Circuits defines what counts as an outage; if Stacks is 0, outages are not detected.
	Circuits circuits.Options
	// AllowCrossNamespace lets stacks use sources of other namespaces and depend on stacks there.
	AllowCrossNamespace bool
	// TenantEnvPrefixes are prefixes of keys in varsFrom. For tenants' stacks, such keys become
	// environment variables if the program declares no such variable.
	TenantEnvPrefixes []string
	// leaveTenants says why this server leaves tenants to another operator; empty if it does not.
	leaveTenants string
	// FileSources are the directories in which file:// URLs may name git repositories; none by
	// default.
	FileSources []string
	// SourceIdentities are the clouds (aws, gcp, azure) whose identity of this server sources without
	// credentials may use; none by default.
	SourceIdentities []string
	// Retention limits the stored runs and states.
	Retention Retention
	// Namespaces are those whose objects this server works on; empty for all.
	Namespaces []string
	// Pods makes runs execute in Pods; nil for processes beside the server.
	Pods *RunnerPods
	// DefaultServiceAccount is the service account, in each namespace, for Kustomizations that name
	// none; empty means all rights.
	DefaultServiceAccount string
	// GitOps enables the controllers that replace Flux: sources, Kustomizations, notifications. The
	// embedded home always enables them. Beside a running Flux they are off.
	GitOps bool
	// LoneServer is true if the API has one server, as that of the embedded home.
	LoneServer bool
	// EventsAddr is the URL to which every event is posted in the format of Flux's
	// notification-controller; empty disables it.
	EventsAddr string
	// MetricsAddress is an additional host:port for metrics without authentication; empty means
	// none. MetricsPerObject adds the metrics that name objects.
	MetricsAddress   string
	MetricsPerObject bool
	// Web configures the page.
	Web WebOptions
	// Registry configures the registry of modules and providers.
	Registry RegistryOptions
	// CallHome is where new nodes of platforms hand over their kubeconfigs.
	CallHome CallHomeOptions
	// authority signs the certificates of this server.
	authority []byte
	// Connections limits the connections of all listeners; NewBudget returns the maximum.
	Connections listener.Budget
	// Out receives the message that the server is ready, with its addresses. News receives progress
	// unless Quiet; nil for none.
	Out, News io.Writer
	Quiet     bool
	// LogFormat is "text" or "json".
	LogFormat string
	Verbose   bool
	Version   string
	Log       *slog.Logger
}

// engine contains everything that works on an API, in either home.
type engine struct {
	opts     Common
	dir      datadir.Dir
	blobs    *blob.Store
	states   *state.Store
	executor *executor.Executor
	// local starts runners beside the server, pods in Pods; one of them is nil.
	local    *local.Local
	pods     *pod.Backend
	manager  ctrl.Manager
	content  *content.Handler
	endpoint *endpoint
	ended    chan run.Stack
	// events records events of objects, for all controllers.
	events events.EventRecorder
	// dispatcher sends alerts, and receivers serve webhooks; nil if Flux does.
	dispatcher *notify.Dispatcher
	receivers  *receive.Receivers
	// breath adapts the garbage collector to the amount of current work.
	breath memory.Breath
	// circuits detects outages; nil if the API does not serve the kind.
	circuits *breakers.Keeper
	// tenants is true if this server reconciles tenants: the API serves their kinds.
	tenants atomic.Bool
	// applications serves application kinds; nil if this server does not.
	applications *applications.Applications
	// sourceKinds are the watched kinds of sources.
	sourceKinds []string
	registry    *registryParts
	// callHome listens for new nodes; nil if this server does not.
	callHome *callHome
	// mirrors has copies of git repositories. gitNews are told when one has changed.
	mirrors *git.Mirrors
	gitNews []func(upstream string)
	// usage knows who uses which version of modules and providers.
	usage *usageKeeper
	tries *tries
	// pullRequests plans pull requests; nil if the API does not serve the kind.
	pullRequests *pullrequests.Reconciler
	// refactorings changes several states as one operation.
	refactorings *reshape.Desk
	// policyDesk answers questions about policies; nil if the API does not serve them.
	policyDesk *policyDesk
	// policies judges plans; nil if the API does not serve the kinds. auditLog keeps what they decided.
	policies *policies
	auditLog *ledger.Ledger
	// collects delete unused data other than source archives.
	collects []func(context.Context) error
	// keeper deletes old data of runs.
	keeper *keeper
	// metrics and tracer export metrics and traces.
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer
	store   storeLook
	tool    tool
	tools   *tools.Box
	started time.Time
	// narrator prints progress for the person who started the server.
	narrator *narrator
}

// certificate is the GetCertificate of a tls.Config.
type certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// newEngine builds the engine on an API.
func newEngine(ctx context.Context, opts Common, dir datadir.Dir, config *rest.Config, t tool) (_ *engine, err error) {
	e := &engine{opts: opts, dir: dir, tool: t, ended: make(chan run.Stack, 4096), started: time.Now().UTC(), narrator: newNarrator(&opts)}
	go e.narrator.tell(ctx)
	if e.blobs, err = openBlobs(ctx, opts, dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.stopTelemetry(context.WithoutCancel(ctx))
			err = errors.Join(err, e.blobs.Close(), e.registry.close())
		}
	}()
	controllerlog.To(quieter{opts.Log.With("component", "controller").Handler(), ctx.Done()})
	if config, err = e.addTelemetry(ctx, config); err != nil {
		return nil, err
	}
	e.manager, err = ctrl.NewManager(config, managerOptions(opts.Pods != nil, opts.Namespaces))
	if err != nil {
		return nil, fmt.Errorf("create the controller manager: %w", err)
	}
	if err := e.openRegistry(ctx, config); err != nil {
		return nil, err
	}
	e.events = e.manager.GetEventRecorder("yuba")
	if err := e.addNotifications(); err != nil {
		return nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: e.manager.GetScheme(), Mapper: e.manager.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create the API's client: %w", err)
	}
	direct = names.Client{Client: direct}
	if len(opts.Namespaces) > 0 {
		direct = namespaced.Client{Client: direct, Namespaces: opts.Namespaces}
	}
	e.states = state.New(direct, e.blobs).Watching(e.manager.GetCache())
	if err := e.addControllers(ctx, direct); err != nil {
		return nil, err
	}
	return e, nil
}

func openBlobs(ctx context.Context, opts Common, dir datadir.Dir) (*blob.Store, error) {
	key, err := blob.LoadOrCreateKey(dir.BlobKey())
	if err != nil {
		return nil, err
	}
	return blob.Open(ctx, cmp.Or(opts.BlobURL, "file://"+dir.Blobs()), key)
}

// limits returns the limits of one run on this server.
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
	switch o.RunNetwork {
	case run.NoNetwork:
		l.Network = run.NoNetwork
	case run.IsolatedNetwork: // an older runner gives them none
		l.Network, l.Isolated = run.NoNetwork, o.RunNetworkAllow
	}
	return l
}

// addControllers adds all controllers, with everything that they need, to the manager.
func (e *engine) addControllers(ctx context.Context, direct client.Client) error {
	r := e.stackReconciler(direct)
	e.usage = newUsageKeeper(e)
	r.Notices, e.tries = e.usage.notices, newTries(e, r, direct)
	e.addRefactorings()
	for _, work := range []manager.RunnableFunc{e.usage.run, e.tries.desk.Run, e.refactorings.Run} {
		if err := e.manager.Add(work); err != nil {
			return err
		}
	}
	e.keeper = newKeeper(&keeper{keep: e.opts.Retention, states: e.states, names: e.blobs, stacks: e.manager.GetClient(), now: time.Now, log: e.opts.Log})
	if err := e.makeExecutor(r, direct); err != nil {
		return err
	}
	e.keeper.runs = e.executor
	if err := e.resume(ctx, direct); err != nil {
		return err
	}
	r.Runs, r.Observe = e.executor, e.observeDecision
	kinds, err := servedSources(e.manager.GetRESTMapper())
	if err != nil {
		return err
	}
	e.sourceKinds = kinds
	e.auditLog = &ledger.Ledger{Store: e.blobs, Server: fmt.Sprintf("yuba %s at %s", e.opts.Version, hostname())}
	if err := e.addPolicies(r, direct); err != nil {
		return err
	}
	if err := e.addContracts(ctx, r); err != nil {
		return err
	}
	if err := e.addBridges(ctx, direct, r); err != nil {
		return err
	}
	if err := e.addExternalSecrets(ctx, direct); err != nil {
		return err
	}
	if err := e.addDNS(ctx, direct); err != nil {
		return err
	}
	if err := e.addPlatforms(ctx, direct); err != nil {
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
	if err := e.addApplications(ctx, direct, r.Source); err != nil {
		return err
	}
	if err := e.openMirrors(); err != nil {
		return err
	}
	if e.opts.GitOps {
		if err := e.addGitOps(ctx, direct); err != nil {
			return err
		}
	}
	if err := e.addModuleSources(ctx, direct); err != nil {
		return err
	}
	if err := e.addPullRequests(ctx, direct); err != nil {
		return err
	}
	e.content = e.contentHandler(direct)
	if err := e.addCollectors(direct, kinds); err != nil {
		return err
	}
	e.tools = tools.NewBox(e.tool.path, e.toolDir())
	e.serveByHand(r)
	e.serveContracts(r)
	e.servePolicies()
	e.serveWhy(r)
	e.serveApplications(direct)
	return nil
}

// archiveClient downloads archives of sources that another controller fetched.
func archiveClient() *http.Client {
	const redirects = 10
	return outbound.Client(outbound.Options{Timeout: reads.FetchTimeout, Connect: 30 * time.Second, Redirects: redirects})
}

// stackReconciler creates the stack controller's reconciler without its executor, which in turn
// needs the reconciler for permissions.
func (e *engine) stackReconciler(direct client.Client) *stacks.Reconciler {
	return &stacks.Reconciler{
		Client: e.manager.GetClient(), Reader: direct, Stacks: fresh.New(e.manager.GetCache(), direct), Events: e.events, States: e.states,
		Source:     &reads.Sources{Reader: direct, Store: e.blobs, MaxArchive: e.opts.limits().ArchiveBytes, HTTP: archiveClient(), Ours: e.ownArchive},
		Rules:      reads.Rules{AllowCrossNamespace: e.opts.AllowCrossNamespace, TenantEnvPrefixes: e.opts.TenantEnvPrefixes, Pods: e.opts.Pods != nil, Digest: e.blobs.Digest},
		PinnedTool: newPins(direct, e.opts.Log).tool,
		Limits:     e.opts.limits(), Now: time.Now, Log: e.opts.Log, Webhooks: &review.Client{Certs: e.opts.WebhookCerts},
	}
}

// makeExecutor creates the executor. The stack controller decides how far each run may go.
func (e *engine) makeExecutor(r *stacks.Reconciler, direct client.Client) error {
	opts := executor.Options{Registry: e.runRegistry()}
	if e.opts.Pods != nil {
		e.pods = e.podBackend(direct)
		opts.Backend, opts.Identify = e.pods, e.pods.Identify
	} else {
		e.local = &local.Local{Dir: e.dir.Runner(), Log: e.opts.Log}
		credential, err := e.local.ReadCredential()
		if err != nil {
			return err
		}
		opts.Backend, opts.Credential, opts.Token = e.local, cmp.Or(credential, run.NewToken()), issueToken(direct)
	}
	opts.Blobs, opts.States, opts.LiveDir, opts.ShellDir = e.blobs, e.states, filepath.Join(e.dir.Runner(), "live"), e.shellDir()
	opts.Holder, opts.Version, opts.Log = holder(), e.opts.Version, e.opts.Log
	opts.Reviews = mostReviews(e.concurrency())
	opts.Ended, opts.NamespaceLimit, opts.Busy = e.announce, e.namespaceLimit, e.breath.Voice()
	opts.Observe = func(rec run.Record) {
		e.observeRun(rec)
		if rec.Spec.Speculative() {
			return
		}
		e.usage.observe(rec)
		e.narrator.run(rec)
		e.keeper.observe(rec)
	}
	opts.Notices, opts.Proposed = e.usage.noticesOf, e.proposedState
	opts.Permit, opts.Review, opts.Changing = permission(r.Permit), permission(r.Review), r.Changing
	opts.Inspect = func(ctx context.Context, rec run.Record, installed *run.Installed) (executor.Permission, error) {
		ok, refused, err := r.Inspect(ctx, rec, installed)
		return executor.Permission{Go: ok, Reason: refused.Message, Until: refused.Until}, err
	}
	var err error
	e.executor, err = executor.New(opts)
	return err
}

// permission adapts an answer of the stack controller to the executor.
func permission[About any](ask func(context.Context, run.Record, About) (bool, string, error)) func(context.Context, run.Record, About) (executor.Permission, error) {
	return func(ctx context.Context, rec run.Record, about About) (executor.Permission, error) {
		ok, reason, err := ask(ctx, rec, about)
		return executor.Permission{Go: ok, Reason: reason}, err
	}
}

// blamesAtOnce limits the memory for histories of values: each reads several whole states at a time.
const blamesAtOnce = 2

// contentHandler serves content that does not fit into objects.
func (e *engine) contentHandler(direct client.Client) *content.Handler {
	h := &content.Handler{StoreID: e.blobs.ID(), Client: direct, Reader: direct, Runs: e.executor, States: e.states, Artifacts: e.blobs,
		MaxArchive: e.opts.limits().ArchiveBytes, Holder: holder(), Version: e.opts.Version, Log: e.opts.Log, Server: e.info,
		Parcels:  &parcel.Store{Blobs: e.blobs, States: e.states, MaxArtifact: e.opts.limits().ArchiveBytes, Version: e.opts.Version},
		Imported: e.executor.Forget, SigningKey: e.blobs.SigningKey, Providers: e.storedProviders, RemoveProvider: e.removeProvider, Queue: e.queue, Figures: e.figures, Metrics: e.metrics.Handler(),
		Registry: e.registry.server.Manager(), KeptTools: e.keptTools, Usage: e.usage, Tries: e.tries, Refactorings: e.refactorings,
		Blame: blame.NewDesk(e.states, blamesAtOnce).Of}
	if e.policyDesk != nil {
		h.Policies = e.policyDesk
	}
	return h
}

// addCollectors adds the deletion of unused data.
func (e *engine) addCollectors(direct client.Client, kinds []string) error {
	charts, err := servedCharts(e.manager.GetRESTMapper())
	if err != nil {
		return err
	}
	garbage := &collector{reader: direct, scheme: e.manager.GetScheme(), blobs: e.blobs, runs: e.executor, kinds: slices.Concat(kinds, charts)}
	err = e.manager.Add(manager.RunnableFunc(func(ctx context.Context) error { return e.collectGarbage(ctx, garbage) }))
	if err != nil {
		return err
	}
	return e.manager.Add(manager.RunnableFunc(e.keeper.throwAway))
}
