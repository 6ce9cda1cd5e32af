// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	kustomizations "github.com/yuba-dev/yuba/internal/gitops/kustomizations/controller"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/kit/memory"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/telemetry"
)

// addTelemetry creates metrics and tracer before anything can be observed. It returns an API
// configuration that counts writes.
func (e *engine) addTelemetry(ctx context.Context, config *rest.Config) (_ *rest.Config, err error) {
	e.metrics = telemetry.New(telemetry.Options{Version: e.opts.Version, ToolVersion: e.tool.version, Places: e.concurrency(),
		Figures: func() executor.Figures { return e.executor.Figures() }, Objects: e.eachObject, DataDir: string(e.dir),
		Circuits: e.circuitCounts, Providers: e.storeSize, Modules: e.moduleUses, Tenants: e.eachTenant, Registries: e.eachRegistry,
		PerObject: e.opts.MetricsPerObject, Also: ctrlmetrics.Registry, Log: e.opts.Log})
	if e.tracer, err = telemetry.OpenTracer(ctx, e.opts.Version, e.opts.Log); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(e.metrics.Transport)
	return config, nil
}

// circuitCounts counts open circuit breakers and the stacks that they pause.
func (e *engine) circuitCounts() telemetry.Circuits {
	if e.circuits == nil {
		return telemetry.Circuits{}
	}
	c := e.circuits.Counts()
	return telemetry.Circuits{Open: c.Open, Kept: c.Kept, Failing: c.Failing}
}

// storeSizeEvery is the interval of measuring the provider store: it is read from disk.
const storeSizeEvery = time.Minute

// storeLook is the last measurement of the provider store.
type storeLook struct {
	mu       sync.Mutex
	at       time.Time
	packages int
	bytes    int64
}

func (e *engine) storeSize() (packages int, bytes int64) {
	l := &e.store
	l.mu.Lock()
	defer l.mu.Unlock()
	if dir := e.providerStore(); dir != "" && time.Since(l.at) > storeSizeEvery {
		l.at = time.Now()
		stored, err := providers.List(dir)
		if err != nil {
			e.opts.Log.Debug("counting stored providers failed", "error", err)
			return l.packages, l.bytes
		}
		l.packages, l.bytes = len(stored), 0
		for _, p := range stored {
			l.bytes += p.Size
		}
	}
	return l.packages, l.bytes
}

// stopTelemetry sends queued spans, if the collector is available.
func (e *engine) stopTelemetry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	e.tracer.Close(ctx)
}

func (e *engine) observeRun(rec run.Record) {
	e.metrics.ObserveRun(rec)
	e.tracer.Run(rec, time.Now())
}

func (e *engine) observeDecision(d decide.Decision, ended bool) {
	e.metrics.ObserveDecision(string(d.Verb), d.Reason, needsNoRun(d, ended))
}

// needsNoRun reports whether a reconciliation saved a run because the stack needs none. After a
// completed run the decision is the same, but the run was not saved.
func needsNoRun(d decide.Decision, ended bool) bool {
	return d.Verb == decide.VerbRest && d.Reason == decide.ReasonUpToDate && !ended
}

func (e *engine) observeLook(l sources.Look) {
	e.metrics.ObserveLook(l.Kind, l.Name.Namespace, l.Name.Name, l.Result, l.Took)
	if l.Result != sources.LookUnchanged {
		e.tracer.Look(l.Kind, l.Name.Namespace, l.Name.Name, l.Revision, l.Result, l.Began, l.Took)
	}
}

func (e *engine) observeAttempt(a kustomizations.Attempt) {
	e.metrics.ObserveApply(a.Name.Namespace, a.Name.Name, !a.Failed, a.Took)
	e.tracer.Apply(a.Name.Namespace, a.Name.Name, a.Revision, !a.Failed, a.Began, a.Took)
}

// stopMetrics is how long a scrape may continue when the server stops.
const stopMetrics = time.Second

// serveMetrics serves metrics without authentication, at their own address, until stop is called.
func (o *Common) serveMetrics(metrics http.Handler, allowNonLoopback bool) (stop func(), err error) {
	address := o.MetricsAddress
	if address == "" {
		return func() {}, nil
	}
	if err := checkAddress("--metrics-address", address, allowNonLoopback, o.Log); err != nil {
		return nil, err
	}
	inner, err := listen("--metrics-address", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	connections := listener.New(inner, o.Connections.Share(5))
	server := listener.NewServer(mux, listener.ShortBody, nil, o.Log)
	server.WriteTimeout = answerTime
	go serve("metrics", o.Log, func() error { return server.Serve(connections) })
	o.Log.Info("serving metrics", "url", "http://"+connections.Addr().String()+"/metrics")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopMetrics)
		defer cancel()
		server.Shutdown(ctx) //nolint:errcheck // slow readers are disconnected
		server.Close()       //nolint:errcheck // slow readers are disconnected
	}, nil
}

// serveMetrics serves the engine's metrics until ctx ends.
func (e *engine) serveMetrics(ctx context.Context, allowNonLoopback bool) error {
	stop, err := e.opts.serveMetrics(e.metrics.Handler(), allowNonLoopback)
	if err == nil {
		context.AfterFunc(ctx, stop)
	}
	return err
}

// eachObject yields the status of each object, from memory.
func (e *engine) eachObject(yield func(*telemetry.Object)) {
	var o telemetry.Object
	each(e, &infrav1.Terraform{}, func(t *infrav1.Terraform) {
		o = describeObject(t, t.Status.Conditions, t.Spec.Suspend)
		o.Group, o.Version, o.Kind = infrav1.GroupVersion.Group, infrav1.GroupVersion.Version, "Terraform"
		o.Revision = cmp.Or(t.Status.LastAppliedRevision, t.Status.LastAttemptedRevision)
		if t.Spec.SourceRef != nil {
			o.Source = t.Spec.SourceRef.Name
		}
		o.LockedOut = t.Status.Lock.Pending != ""
		o.Waits, o.Paused = t.AwaitsApproval(), apimeta.IsStatusConditionTrue(t.Status.Conditions, infrav1.ConditionPaused)
		o.Drifted = o.Reason == infrav1.ReasonDriftDetected
		yield(&o)
	})
	e.eachTenantObject(yield)
	if !e.opts.GitOps {
		return
	}
	each(e, &kustomizev1.Kustomization{}, func(k *kustomizev1.Kustomization) {
		o = describeObject(k, k.Status.Conditions, k.Spec.Suspend)
		o.Group, o.Version, o.Kind = kustomizev1.GroupVersion.Group, kustomizev1.GroupVersion.Version, kustomizev1.KustomizationKind
		o.Revision, o.Source = k.Status.LastAppliedRevision, k.Spec.SourceRef.Name
		yield(&o)
	})
	each(e, &helmv2.HelmRelease{}, func(r *helmv2.HelmRelease) {
		o = describeObject(r, r.Status.Conditions, r.Spec.Suspend)
		o.Group, o.Version, o.Kind = helmv2.GroupVersion.Group, helmv2.GroupVersion.Version, helmv2.HelmReleaseKind
		o.Revision = r.Status.LastAttemptedRevision
		yield(&o)
	})
	source := func(kind string, s client.Object, conditions []metav1.Condition, suspended bool, artifact *meta.Artifact) {
		o = describeObject(s, conditions, suspended)
		o.Group, o.Version, o.Kind = sourcev1.GroupVersion.Group, sourcev1.GroupVersion.Version, kind
		if artifact != nil {
			o.Revision = artifact.Revision
		}
		yield(&o)
	}
	each(e, &sourcev1.GitRepository{}, func(s *sourcev1.GitRepository) {
		source(sourcev1.GitRepositoryKind, s, s.Status.Conditions, s.Spec.Suspend, s.Status.Artifact)
	})
	each(e, &sourcev1.OCIRepository{}, func(s *sourcev1.OCIRepository) {
		source(sourcev1.OCIRepositoryKind, s, s.Status.Conditions, s.Spec.Suspend, s.Status.Artifact)
	})
	each(e, &sourcev1.HelmRepository{}, func(s *sourcev1.HelmRepository) {
		source(sourcev1.HelmRepositoryKind, s, s.Status.Conditions, s.Spec.Suspend, s.Status.Artifact)
	})
	each(e, &sourcev1.HelmChart{}, func(s *sourcev1.HelmChart) {
		source(sourcev1.HelmChartKind, s, s.Status.Conditions, s.Spec.Suspend, s.Status.Artifact)
	})
	each(e, &sourcev1.Bucket{}, func(s *sourcev1.Bucket) {
		source(sourcev1.BucketKind, s, s.Status.Conditions, s.Spec.Suspend, s.Status.Artifact)
	})
	each(e, &sourcev1.ExternalArtifact{}, func(s *sourcev1.ExternalArtifact) {
		source(sourcev1.ExternalArtifactKind, s, s.Status.Conditions, false, s.Status.Artifact)
	})
}

func describeObject(o client.Object, conditions []metav1.Condition, suspended bool) telemetry.Object {
	d := telemetry.Object{Namespace: o.GetNamespace(), Name: o.GetName(), Suspended: suspended}
	if ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition); ready != nil {
		d.Ready, d.Reason = string(ready.Status), ready.Reason
		d.Blocked = ready.Reason == meta.DependencyNotReadyReason
	}
	return d
}

// each calls look with each cached object of a kind. The objects belong to the cache: do not modify
// them.
func each[T client.Object](e *engine, kind T, look func(T)) {
	informer, err := e.manager.GetCache().GetInformer(context.Background(), kind, cache.BlockUntilSynced(false))
	if err != nil {
		e.opts.Log.Debug("counting objects failed", "error", err)
		return
	}
	stored, ok := informer.(interface{ GetStore() toolscache.Store })
	if !ok {
		return
	}
	for _, o := range stored.GetStore().List() {
		if o, ok := o.(T); ok {
			look(o)
		}
	}
}

// figures returns the figures of `yuba top`.
func (e *engine) figures(context.Context) content.Figures {
	now, own := time.Now().UTC(), memory.Measure()
	f, lately := e.executor.Figures(), e.metrics.Recent()
	answer := content.Figures{At: now, Started: e.started, Version: e.opts.Version, Places: e.concurrency(),
		Server: run.Usage{MemoryBytes: own.Memory, CPU: run.Duration(own.CPU), ChildCPU: run.Duration(own.Children)}, Runner: f.Runner.Usage,
		RunnerAlive: telemetry.Alive(f.Runner, now), Prepared: f.Prepared, Ended: lately.Total, Failed: lately.Failed, LastMinute: lately.LastMinute,
		FailedLastMinute: lately.FailedLastMinute, Skipped: lately.Skipped}
	for _, line := range f.Lines {
		answer.Waiting += line.Waiting
	}
	for _, n := range f.AtWork {
		answer.AtWork += n
	}
	if !f.Runner.Seen.IsZero() {
		seen := f.Runner.Seen.UTC()
		answer.RunnerSeen = &seen
	}
	for _, r := range lately.Slowest {
		answer.Slowest = append(answer.Slowest, content.EndedRun{Namespace: r.Stack.Namespace, Name: r.Stack.Name, Run: r.ID, Operation: string(r.Operation),
			Outcome: string(r.Outcome), Finished: r.Finished, Took: run.Duration(r.Took)})
	}
	return answer
}

// observeRegistry counts an answer of the registry.
func (e *engine) observeRegistry(s gateway.Served) {
	e.metrics.ObserveRegistry(s.Kind, s.Status, s.Subject, s.Took)
}
