// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Options configure a server's metrics.
type Options struct {
	// Version is the version of the server, ToolVersion that of the default tool of runs.
	Version, ToolVersion string
	// Places is the maximum number of concurrent runs.
	Places int
	// Figures returns the executor's current figures.
	Figures func() executor.Figures
	// Objects calls yield with each object, from memory. It may reuse one Object for all calls.
	Objects func(yield func(*Object))
	// Tenants and Registries do the same for tenants and their registries; nil if there are none.
	Tenants    func(yield func(*Tenant))
	Registries func(yield func(*Registry))
	// Circuits counts circuit breakers; nil if there are none.
	Circuits func() Circuits
	// Modules returns who uses the modules of this registry; nil if there is none.
	Modules func() []ModuleUse
	// Providers returns the content of the provider store; nil if there is none.
	Providers func() (packages int, bytes int64)
	// DataDir is this server's data directory.
	DataDir string
	// PerObject enables the metrics with names of objects in their labels.
	PerObject bool
	// Also is served with these metrics.
	Also prometheus.Gatherer
	Log  *slog.Logger
}

// Circuits are the numbers of circuit breakers that the server opened, that people opened, and of
// the stacks that fail because of them.
type Circuits struct{ Open, Kept, Failing int }

// Metrics are the metrics of one server. They are safe for concurrent use.
type Metrics struct {
	opts     Options
	registry *prometheus.Registry
	recent   recent

	counters   map[*family]*prometheus.CounterVec
	histograms map[*family]*prometheus.HistogramVec
	gotk       *gotk
	tenants    *tenants
	resources  limited
	packages   limited
}

// New creates the metrics of a server.
func New(opts Options) *Metrics {
	m := &Metrics{opts: opts, registry: prometheus.NewRegistry(), resources: limited{limit: maxResources}, packages: limited{limit: maxPackages},
		counters: map[*family]*prometheus.CounterVec{}, histograms: map[*family]*prometheus.HistogramVec{}, tenants: newTenants(opts)}
	for _, f := range []*family{&runsTotal, &stepCPU, &initsTotal, &storeHits, &storeFetches, &storeBytes, &plansTotal, &changedTotal,
		&driftFound, &driftMended, &lostTotal, &decisions, &skipped, &writesTotal, &registryRequests, &registryPackages} {
		m.counters[f] = f.counters()
		m.registry.MustRegister(m.counters[f])
		if len(f.labels) == 0 { // it exists from the start, so that the first increase is visible
			m.add(f, 0)
		}
	}
	for _, f := range []*family{&runSeconds, &runQueueSeconds, &stepSeconds, &fetchSeconds, &deploySeconds} {
		m.histograms[f] = f.histograms(runBuckets)
		m.registry.MustRegister(m.histograms[f])
	}
	m.histograms[&registrySeconds] = registrySeconds.histograms(requestBuckets)
	m.registry.MustRegister(m.histograms[&registrySeconds], &live{opts}, m.tenants)
	if opts.PerObject {
		m.gotk = newGotk(opts.Objects)
		m.registry.MustRegister(m.gotk)
	}
	return m
}

// add adds to a counter; a negative number adds nothing.
func (m *Metrics) add(f *family, n int64, labels ...string) {
	m.counters[f].WithLabelValues(labels...).Add(float64(max(n, 0)))
}

func (m *Metrics) observe(f *family, took time.Duration, labels ...string) {
	m.histograms[f].WithLabelValues(labels...).Observe(seconds(took))
}

// maxScrapes is the maximum number of concurrent scrapes.
const maxScrapes = 4

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler { return handler(m.registry, m.opts.Also, m.opts.Log) }

func handler(ours *prometheus.Registry, also prometheus.Gatherer, log *slog.Logger) http.Handler {
	from := prometheus.Gatherers{ours}
	if also != nil {
		from = append(from, also)
	}
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError,
		EnableOpenMetrics: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)})
}

// Accepted label values. A runner sends them, so unknown ones are counted as one.
var (
	steps = words(run.StepPrepare, run.StepInit, run.StepPlan, run.StepShow, run.StepApply, run.StepOutput, "continue")
	inits = words(run.InitRan, run.InitUnchanged, run.InitReplayed)
	// outcomes and failures are those of run.Result.
	outcomes = words(run.OutcomeSucceeded, run.OutcomeFailed, run.OutcomeInterrupted, run.OutcomeCanceled)
	failures = words("", run.FailureTool, run.FailureSource, run.FailureConfiguration, run.FailureStalePlan, run.FailureWorkspace, run.FailureLocked,
		run.FailureRefused, run.FailurePolicy, run.FailureState, run.FailureLimit, run.FailureDisk, run.FailureKilled)
)

func words[T ~string](list ...T) map[string]bool {
	m := map[string]bool{}
	for _, w := range list {
		m[string(w)] = true
	}
	return m
}

// known returns the word if it is in the list.
func known[T ~string](word T, list map[string]bool) string {
	if list[string(word)] {
		return string(word)
	}
	return "other"
}

// ObserveRun counts a completed run.
func (m *Metrics) ObserveRun(rec run.Record) {
	spec, result := &rec.Spec, rec.Result
	operation, purpose, outcome := string(spec.Operation), string(spec.Purpose), known(result.Outcome, outcomes)
	m.add(&runsTotal, 1, operation, purpose, outcome, known(result.Class, failures))
	if spec.Operation.ByHand() {
		return
	}
	m.recent.add(rec)
	if rec.Started != nil {
		waited := result.Unplaced()
		m.observe(&runSeconds, result.Finished.Sub(*rec.Started)-waited, operation, purpose, outcome)
		m.observe(&runQueueSeconds, rec.Started.Sub(rec.Created)+waited, urgencyOf(rec))
	}
	if m.gotk != nil {
		m.gotk.observe("Terraform", spec.Stack.Namespace, spec.Stack.Name, result.Finished.Sub(rec.Created))
	}
	m.observeSteps(operation, result.Steps)
	if result.Init != "" {
		m.add(&initsTotal, 1, known(result.Init, inits))
	}
	if p := result.Providers; p != nil {
		m.add(&storeHits, int64(p.Hits))
		m.add(&storeFetches, int64(p.Downloads))
		m.add(&storeBytes, p.DownloadedBytes)
	}
	m.observePlan(rec)
	if c := result.AppliedCounts; c != nil {
		for action, n := range map[string]int{"add": c.Add, "change": c.Change, "destroy": c.Destroy, "import": c.Import, "forget": c.Forget} {
			m.add(&changedTotal, int64(n), action)
		}
	}
	m.add(&lostTotal, int64(len(result.Unproven)+result.UnprovenMore))
}

// observeSteps counts each step once, even if it had several parts.
func (m *Metrics) observeSteps(operation string, reports []run.StepReport) {
	took := map[string]time.Duration{}
	for _, r := range reports {
		step := known(r.Step, steps)
		if r.CPU > 0 {
			m.counters[&stepCPU].WithLabelValues(step).Add(time.Duration(r.CPU).Seconds())
		}
		took[step] += time.Duration(r.Wall)
	}
	for step, d := range took {
		m.observe(&stepSeconds, d, step, operation)
	}
}

// observePlan counts the result of a run that should have planned.
func (m *Metrics) observePlan(rec run.Record) {
	spec, result := &rec.Spec, rec.Result
	if spec.Operation != run.OperationPlan && spec.Operation != run.OperationPlanAndApply || result.Outcome == run.OutcomeCanceled && result.Plan == nil {
		return
	}
	found := "failed"
	switch {
	case result.Plan == nil:
		// A successful run without a plan had nothing to plan.
		if result.Outcome == run.OutcomeSucceeded {
			return
		}
	case result.Plan.Changes:
		found = "changes"
	default:
		found = "none"
	}
	m.add(&plansTotal, 1, string(spec.Purpose), found)
	if spec.Purpose == run.PurposeDrift && found == "changes" {
		m.add(&driftFound, 1)
		if result.Applied {
			m.add(&driftMended, 1)
		}
	}
}

func urgencyOf(rec run.Record) string {
	switch rec.Urgency {
	case run.UrgencyAwaited, run.UrgencyReview, run.UrgencyDrift:
		return string(rec.Urgency)
	}
	return string(run.UrgencyChange)
}

// seconds guards against negative durations: of two clocks, or of one that was set.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }

// ObserveDecision counts a reconciliation of a stack. proven says that it needed no process because
// nothing has to be done.
func (m *Metrics) ObserveDecision(verb, reason string, proven bool) {
	m.add(&decisions, 1, verb, reason)
	if proven {
		m.add(&skipped, 1)
		m.recent.skip()
	}
}

// ObserveLook counts a check for a new revision of a source. result is new, unchanged or failed.
func (m *Metrics) ObserveLook(kind, namespace, name, result string, took time.Duration) {
	m.observe(&fetchSeconds, took, kind, result)
	if m.gotk != nil {
		m.gotk.observe(kind, namespace, name, took)
	}
}

// ObserveApply counts an attempt to apply a Kustomization.
func (m *Metrics) ObserveApply(namespace, name string, succeeded bool, took time.Duration) {
	result := "succeeded"
	if !succeeded {
		result = "failed"
	}
	m.observe(&deploySeconds, took, result)
	if m.gotk != nil {
		m.gotk.observe("Kustomization", namespace, name, took)
	}
}
