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

	runs, stepCPU, inits, hits, downloads, downloaded, plans, changed, drift, mended, lost, decisions, skipped, writes *prometheus.CounterVec
	runTime, queueTime, stepTime, fetchTime, deployTime                                                                *prometheus.HistogramVec
	gotk                                                                                                               *gotk
	tenants                                                                                                            *tenants
	resources                                                                                                          limited
}

// New creates the metrics of a server.
func New(opts Options) *Metrics {
	m := &Metrics{opts: opts, registry: prometheus.NewRegistry(), resources: limited{limit: maxResources},
		runs: runsTotal.counters(), stepCPU: stepCPU.counters(), inits: initsTotal.counters(),
		hits: storeHits.counters(), downloads: storeFetches.counters(), downloaded: storeBytes.counters(), plans: plansTotal.counters(), changed: changedTotal.counters(),
		drift: driftFound.counters(), mended: driftMended.counters(), lost: lostTotal.counters(), decisions: decisions.counters(),
		skipped: skipped.counters(), writes: writesTotal.counters(), runTime: runSeconds.histograms(), queueTime: runQueueSeconds.histograms(),
		stepTime: stepSeconds.histograms(), fetchTime: fetchSeconds.histograms(), deployTime: deploySeconds.histograms()}
	m.registry.MustRegister(m.runs, m.stepCPU, m.inits, m.hits, m.downloads, m.downloaded, m.plans, m.changed, m.drift, m.mended, m.lost, m.decisions, m.skipped, m.writes,
		m.runTime, m.queueTime, m.stepTime, m.fetchTime, m.deployTime, &live{opts})
	// Metrics without labels exist from the start, so that the first increase is visible.
	for _, c := range []*prometheus.CounterVec{m.drift, m.mended, m.lost, m.skipped, m.hits, m.downloads, m.downloaded} {
		c.WithLabelValues()
	}
	m.tenants = newTenants(opts)
	m.registry.MustRegister(m.tenants)
	if opts.PerObject {
		m.gotk = newGotk(opts.Objects)
		m.registry.MustRegister(m.gotk)
	}
	return m
}

// maxScrapes is the maximum number of concurrent scrapes.
const maxScrapes = 4

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	from := prometheus.Gatherers{m.registry}
	if m.opts.Also != nil {
		from = append(from, m.opts.Also)
	}
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.ContinueOnError,
		EnableOpenMetrics: true, ErrorLog: slog.NewLogLogger(m.opts.Log.Handler(), slog.LevelWarn)})
}

// Accepted label values. A runner sends them, so unknown ones are counted as one.
var (
	steps = words(run.StepPrepare, run.StepInit, run.StepPlan, run.StepShow, run.StepApply, run.StepOutput, "continue")
	inits = words(run.InitRan, run.InitUnchanged, run.InitReplayed)
	// outcomes and failures are those of run.Result.
	outcomes = words(run.OutcomeSucceeded, run.OutcomeFailed, run.OutcomeInterrupted, run.OutcomeCanceled)
	failures = words("", run.FailureTool, run.FailureSource, run.FailureConfiguration, run.FailureStalePlan, run.FailureWorkspace, run.FailureLocked,
		run.FailureRefused, run.FailureState, run.FailureLimit, run.FailureDisk, run.FailureKilled)
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
	m.runs.WithLabelValues(operation, purpose, outcome, known(result.Class, failures)).Inc()
	if spec.Operation.ByHand() {
		return
	}
	m.recent.add(rec)
	if rec.Started != nil {
		waited := result.Unplaced()
		m.runTime.WithLabelValues(operation, purpose, outcome).Observe(seconds(result.Finished.Sub(*rec.Started) - waited))
		m.queueTime.WithLabelValues(urgencyOf(rec)).Observe(seconds(rec.Started.Sub(rec.Created) + waited))
	}
	if m.gotk != nil {
		m.gotk.observe("Terraform", spec.Stack.Namespace, spec.Stack.Name, result.Finished.Sub(rec.Created))
	}
	m.observeSteps(operation, result.Steps)
	if result.Init != "" {
		m.inits.WithLabelValues(known(result.Init, inits)).Inc()
	}
	if p := result.Providers; p != nil {
		m.hits.WithLabelValues().Add(float64(max(p.Hits, 0)))
		m.downloads.WithLabelValues().Add(float64(max(p.Downloads, 0)))
		m.downloaded.WithLabelValues().Add(float64(max(p.DownloadedBytes, 0)))
	}
	m.observePlan(rec)
	if c := result.AppliedCounts; c != nil {
		for action, n := range map[string]int{"add": c.Add, "change": c.Change, "destroy": c.Destroy, "import": c.Import, "forget": c.Forget} {
			m.changed.WithLabelValues(action).Add(float64(max(n, 0)))
		}
	}
	m.lost.WithLabelValues().Add(float64(len(result.Unproven) + result.UnprovenMore))
}

// observeSteps counts each step once, even if it had several parts.
func (m *Metrics) observeSteps(operation string, reports []run.StepReport) {
	var wall [16]struct {
		step string
		took time.Duration
	}
	n := 0
reports:
	for _, r := range reports {
		step := known(r.Step, steps)
		if r.CPU > 0 {
			m.stepCPU.WithLabelValues(step).Add(time.Duration(r.CPU).Seconds())
		}
		for i := range n {
			if wall[i].step == step {
				wall[i].took += time.Duration(r.Wall)
				continue reports
			}
		}
		if n < len(wall) {
			wall[n].step, wall[n].took = step, time.Duration(r.Wall)
			n++
		}
	}
	for _, w := range wall[:n] {
		m.stepTime.WithLabelValues(w.step, operation).Observe(seconds(w.took))
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
	m.plans.WithLabelValues(string(spec.Purpose), found).Inc()
	if spec.Purpose == run.PurposeDrift && found == "changes" {
		m.drift.WithLabelValues().Inc()
		if result.Applied {
			m.mended.WithLabelValues().Inc()
		}
	}
}

func urgencyOf(rec run.Record) string {
	switch rec.Urgency {
	case run.UrgencyAwaited, run.UrgencyDrift:
		return string(rec.Urgency)
	}
	return string(run.UrgencyChange)
}

// seconds guards against negative durations: of two clocks, or of one that was set.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }

// ObserveDecision counts a reconciliation of a stack. proven says that it needed no process because
// nothing has to be done.
func (m *Metrics) ObserveDecision(verb, reason string, proven bool) {
	m.decisions.WithLabelValues(verb, reason).Inc()
	if proven {
		m.skipped.WithLabelValues().Inc()
		m.recent.skip()
	}
}

// ObserveLook counts a check for a new revision of a source. result is new, unchanged or failed.
func (m *Metrics) ObserveLook(kind, namespace, name, result string, took time.Duration) {
	m.fetchTime.WithLabelValues(kind, result).Observe(seconds(took))
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
	m.deployTime.WithLabelValues(result).Observe(seconds(took))
	if m.gotk != nil {
		m.gotk.observe("Kustomization", namespace, name, took)
	}
}
