// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// scrape asks for all metrics, as Prometheus does.
func scrape(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	return scrapeFrom(t, m.Handler())
}

func scrapeFrom(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// values are the samples of a metric, "a=x,b=y" -> value; of a histogram their count.
func values(f *dto.MetricFamily) map[string]float64 {
	got := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		key := strings.Join(labels, ",")
		switch {
		case m.Counter != nil:
			got[key] = m.Counter.GetValue()
		case m.Gauge != nil:
			got[key] = m.Gauge.GetValue()
		case m.Histogram != nil:
			got[key] = float64(m.Histogram.GetSampleCount())
		}
	}
	return got
}

func newMetrics(t *testing.T, change ...func(*Options)) *Metrics {
	t.Helper()
	o := Options{Version: "v1", ToolVersion: "1.12.0", Places: 4, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func wantValues(t *testing.T, families map[string]*dto.MetricFamily, want map[string]map[string]float64) {
	t.Helper()
	for name, samples := range want {
		if diff := cmp.Diff(samples, values(families[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ended is a run that waited a second and took four.
func ended(change func(*run.Record)) run.Record {
	started := began.Add(time.Second)
	rec := run.Record{Created: began, Started: &started, Urgency: run.UrgencyDrift,
		Spec: run.Spec{ID: "r1", Stack: run.Stack{Namespace: "team", Name: "vpc", UID: "u"}, Operation: run.OperationPlanAndApply, Purpose: run.PurposeDrift,
			Artifact: run.Artifact{Revision: "main@sha1:1"}},
		Result: &run.Result{Outcome: run.OutcomeSucceeded, Finished: began.Add(5 * time.Second), Applied: true, Init: run.InitReplayed,
			Plan: &run.PlanResult{Changes: true, Counts: run.Counts{Add: 1}}, AppliedCounts: &run.Counts{Add: 1, Destroy: 2},
			Providers: &run.ProviderUse{Hits: 2, Downloads: 1, DownloadedBytes: 1000},
			Steps: []run.StepReport{
				{Step: run.StepPrepare, Started: started, Wall: run.Duration(100 * time.Millisecond)},
				{Step: run.StepInit, Started: started.Add(100 * time.Millisecond), Wall: run.Duration(time.Second), CPU: run.Duration(time.Second)},
				{Step: run.StepPrepare, Started: started.Add(1100 * time.Millisecond), Wall: run.Duration(100 * time.Millisecond)},
				{Step: run.StepPlan, Started: started.Add(1200 * time.Millisecond), Wall: run.Duration(time.Second), CPU: run.Duration(500 * time.Millisecond)},
				{Step: run.StepApply, Started: started.Add(2200 * time.Millisecond), Wall: run.Duration(time.Second), CPU: run.Duration(250 * time.Millisecond)},
			}}}
	if change != nil {
		change(&rec)
	}
	return rec
}

// A run that was prepared beside others has not worked while it waited for them.
func TestWaitingForAPlaceIsNoWork(t *testing.T) {
	m := newMetrics(t)
	m.ObserveRun(ended(func(r *run.Record) {
		for i := range r.Result.Steps[1:] {
			r.Result.Steps[1+i].Started = r.Result.Steps[1+i].Started.Add(time.Minute)
		}
		r.Result.Finished = r.Result.Finished.Add(time.Minute)
	}))
	got := scrape(t, m)
	for name, want := range map[string]float64{"yuba_run_duration_seconds": 4, "yuba_run_queue_duration_seconds": 61} {
		if sum := got[name].Metric[0].GetHistogram().GetSampleSum(); sum != want {
			t.Errorf("%s: %v, want %v", name, sum, want)
		}
	}
	if took := m.Recent().Slowest[0].Took; took != 4*time.Second {
		t.Errorf("it is said to have taken %s", took)
	}
}

func TestARunIsCounted(t *testing.T) {
	m := newMetrics(t)
	m.ObserveRun(ended(nil))
	wantValues(t, scrape(t, m), map[string]map[string]float64{
		"yuba_runs_total":                            {"failure=,operation=plan-and-apply,outcome=succeeded,purpose=drift": 1},
		"yuba_run_duration_seconds":                  {"operation=plan-and-apply,outcome=succeeded,purpose=drift": 1},
		"yuba_run_queue_duration_seconds":            {"urgency=drift": 1},
		"yuba_run_step_duration_seconds":             {"operation=plan-and-apply,step=apply": 1, "operation=plan-and-apply,step=init": 1, "operation=plan-and-apply,step=plan": 1, "operation=plan-and-apply,step=prepare": 1},
		"yuba_run_step_cpu_seconds_total":            {"step=apply": 0.25, "step=init": 1, "step=plan": 0.5},
		"yuba_run_inits_total":                       {"result=replayed": 1},
		"yuba_provider_store_hits_total":             {"": 2},
		"yuba_provider_store_downloads_total":        {"": 1},
		"yuba_provider_store_downloaded_bytes_total": {"": 1000},
		"yuba_plans_total":                           {"purpose=drift,result=changes": 1},
		"yuba_resources_changed_total":               {"action=add": 1, "action=change": 0, "action=destroy": 2, "action=forget": 0, "action=import": 0},
		"yuba_drift_found_total":                     {"": 1},
		"yuba_drift_repaired_total":                  {"": 1},
	})
}

func TestWhatIsCountedOfRuns(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*run.Record)
		want   map[string]map[string]float64
	}{
		"a plan that failed is one that was not made": {func(r *run.Record) {
			r.Result = &run.Result{Outcome: run.OutcomeFailed, FailedStep: run.StepPlan, Class: run.FailureConfiguration, Finished: began}
		}, map[string]map[string]float64{"yuba_plans_total": {"purpose=drift,result=failed": 1}, "yuba_drift_found_total": {"": 0},
			"yuba_runs_total": {"failure=configuration,operation=plan-and-apply,outcome=failed,purpose=drift": 1}}},
		"a run that was called off before its plan made none": {func(r *run.Record) {
			r.Started, r.Result = nil, &run.Result{Outcome: run.OutcomeCanceled, Finished: began}
		}, map[string]map[string]float64{"yuba_plans_total": {}, "yuba_run_duration_seconds": {}}},
		"an apply of a saved plan makes none": {func(r *run.Record) { r.Spec.Operation, r.Result.Plan = run.OperationApply, nil },
			map[string]map[string]float64{"yuba_plans_total": {}}},
		"a plan without changes finds no drift": {func(r *run.Record) { r.Result.Plan, r.Result.Applied = &run.PlanResult{}, false },
			map[string]map[string]float64{"yuba_plans_total": {"purpose=drift,result=none": 1}, "yuba_drift_found_total": {"": 0}, "yuba_drift_repaired_total": {"": 0}}},
		"drift that waits for a person is not repaired": {func(r *run.Record) { r.Result.Applied = false },
			map[string]map[string]float64{"yuba_drift_found_total": {"": 1}, "yuba_drift_repaired_total": {"": 0}}},
		"what no state proves": {func(r *run.Record) { r.Result.Unproven, r.Result.UnprovenMore = make([]run.Unproven, 2), 1 },
			map[string]map[string]float64{"yuba_resources_lost_total": {"": 3}}},
		"what people do by hand takes as long as they like": {func(r *run.Record) { r.Spec.Operation = run.OperationShell },
			map[string]map[string]float64{"yuba_run_duration_seconds": {}, "yuba_run_step_duration_seconds": {}, "yuba_plans_total": {},
				"yuba_runs_total": {"failure=,operation=shell,outcome=succeeded,purpose=drift": 1}}},
		"words that a runner makes up are one": {func(r *run.Record) {
			r.Result.Class, r.Result.Outcome, r.Result.Init = "x", "y", "z"
			r.Result.Steps = []run.StepReport{{Step: "a", Wall: 1}, {Step: "b", Wall: 1}}
		}, map[string]map[string]float64{"yuba_runs_total": {"failure=other,operation=plan-and-apply,outcome=other,purpose=drift": 1},
			"yuba_run_step_duration_seconds": {"operation=plan-and-apply,step=other": 1}, "yuba_run_inits_total": {"result=other": 1}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := newMetrics(t)
			m.ObserveRun(ended(c.change))
			wantValues(t, scrape(t, m), c.want)
		})
	}
}

func TestWhatIsInHandIsAskedForWhenSomebodyScrapes(t *testing.T) {
	now := time.Now()
	f := executor.Figures{Lines: []queue.Line{{Group: "a", Class: queue.Urgent, Waiting: 2, Oldest: now.Add(-time.Hour)}, {Group: "b", Class: queue.Drift, Waiting: 3, Oldest: now}},
		AtWork:   map[executor.Work]int{{Namespace: "a", Operation: run.OperationPlan, Purpose: run.PurposeDrift}: 2},
		Prepared: 3, Applying: 1, Unstored: 5, Runner: executor.Runner{Seen: now, Usage: &run.Usage{MemoryBytes: 7, CPU: run.Duration(time.Second), ChildCPU: run.Duration(time.Minute)}}}
	m := newMetrics(t, func(o *Options) {
		o.Figures, o.DataDir = func() executor.Figures { return f }, t.TempDir()
		o.Circuits, o.Providers = func() Circuits { return Circuits{Open: 1, Kept: 2, Failing: 40} }, func() (int, int64) { return 3, 4000 }
	})
	got := scrape(t, m)
	wantValues(t, got, map[string]map[string]float64{
		"yuba_queue_runs":                   {"class=urgent,namespace=a": 2, "class=drift,namespace=b": 3},
		"yuba_runs_at_work":                 {"namespace=a,operation=plan,purpose=drift": 2},
		"yuba_runs_prepared":                {"": 3},
		"yuba_runs_applying":                {"": 1},
		"yuba_run_places":                   {"": 4},
		"yuba_runs_unstored":                {"": 5},
		"yuba_circuit_breakers_open":        {"opened_by=server": 1, "opened_by=person": 2},
		"yuba_stacks_failing_alike":         {"": 40},
		"yuba_provider_store_packages":      {"": 3},
		"yuba_provider_store_bytes":         {"": 4000},
		"yuba_runner_up":                    {"": 1},
		"yuba_runner_resident_memory_bytes": {"": 7},
		"yuba_runner_cpu_seconds_total":     {"process=runner": 1, "process=tools": 60},
	})
	if ages := values(got["yuba_queue_oldest_seconds"]); ages["class=urgent"] < 3600 || ages["class=changed"] != 0 || ages["class=drift"] > 600 {
		t.Errorf("ages: %v", ages)
	}
	if free, size := values(got["yuba_data_free_bytes"])[""], values(got["yuba_data_size_bytes"])[""]; free <= 0 || size < free {
		t.Errorf("%v of %v bytes are free", free, size)
	}
	f.Runner.Seen = now.Add(-time.Hour)
	wantValues(t, scrape(t, m), map[string]map[string]float64{"yuba_runner_up": {"": 0}, "yuba_runner_cpu_seconds_total": {}})
}

func TestDecisionsLooksAndApplies(t *testing.T) {
	m := newMetrics(t)
	m.ObserveDecision("rest", "UpToDate", true)
	m.ObserveDecision("rest", "Suspended", false)
	m.ObserveLook("GitRepository", "team", "infra", "new", time.Second)
	m.ObserveApply("team", "apps", false, time.Second)
	wantValues(t, scrape(t, m), map[string]map[string]float64{
		"yuba_stack_decisions_total":                {"reason=UpToDate,verb=rest": 1, "reason=Suspended,verb=rest": 1},
		"yuba_stack_passes_skipped_total":           {"": 1},
		"yuba_source_look_duration_seconds":         {"kind=GitRepository,result=new": 1},
		"yuba_kustomization_apply_duration_seconds": {"result=failed": 1},
		"gotk_reconcile_duration_seconds":           {},
	})
}

func TestWritesToTheAPIAreCounted(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer api.Close()
	m := newMetrics(t)
	c := &http.Client{Transport: m.Transport(http.DefaultTransport)}
	for _, request := range []string{
		"GET /api/v1/namespaces/a/secrets/x", "PATCH /apis/infra.contrib.fluxcd.io/v1alpha2/namespaces/a/terraforms/x/status",
		"PATCH /apis/infra.contrib.fluxcd.io/v1alpha2/namespaces/b/terraforms/y/status", "POST /api/v1/namespaces/a/secrets", "POST /api/v1/namespaces",
		"PUT /api/v1/namespaces/a/finalize", "DELETE /api/v1/namespaces/a", "PATCH /api/v1/namespaces/a/status", "POST /apis/rbac.authorization.k8s.io/v1/clusterroles", "POST /x",
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, api.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	wantValues(t, scrape(t, m), map[string]map[string]float64{"yuba_api_writes_total": {
		"method=PATCH,resource=terraforms.infra.contrib.fluxcd.io/status": 2, "method=POST,resource=secrets": 1, "method=POST,resource=namespaces": 1,
		"method=PUT,resource=namespaces/finalize": 1, "method=DELETE,resource=namespaces": 1, "method=PATCH,resource=namespaces/status": 1,
		"method=POST,resource=clusterroles.rbac.authorization.k8s.io": 1, "method=POST,resource=(none)": 1}})
}

// Whoever is served beside them must not make a scrape fail.
func TestAlsoIsServed(t *testing.T) {
	also := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "workqueue_adds_total", Help: "x"})
	also.MustRegister(c)
	m := newMetrics(t, func(o *Options) { o.Also = also })
	if got := scrape(t, m); got["workqueue_adds_total"] == nil || got["yuba_build_info"] == nil {
		t.Errorf("%d families", len(got))
	}
}

// A replica that waits has the metrics of its process, and says that it waits.
func TestAReplicaThatWaitsIsScraped(t *testing.T) {
	also := prometheus.NewRegistry()
	also.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "process_x_total", Help: "x"}))
	got := scrapeFrom(t, Standby("v1", also, slog.New(slog.DiscardHandler)))
	wantValues(t, got, map[string]map[string]float64{"yuba_leader": {"": 0}})
	if len(got) != 3 || got["process_x_total"] == nil {
		t.Errorf("%v", got)
	}
	wantValues(t, scrape(t, newMetrics(t, func(*Options) {})), map[string]map[string]float64{"yuba_leader": {"": 1}})
}

func TestTheReferenceIsUpToDateAndComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Reference() {
		t.Error("docs/reference/metrics.md is not what the catalog says. To write it:\n    go run ./internal/telemetry/reference docs/reference/metrics.md")
	}
	m := newMetrics(t, func(o *Options) { o.PerObject = true })
	descriptions := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descriptions)
	close(descriptions)
	registered := map[string]bool{}
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for d := range descriptions {
		registered[name.FindStringSubmatch(d.String())[1]] = true
	}
	for _, c := range chapters {
		for _, f := range c.families {
			if !registered[f.name] {
				t.Errorf("%s is in the reference and not served", f.name)
			}
			delete(registered, f.name)
			if !strings.HasSuffix(f.help, ".") || f.kind == counter && !strings.HasSuffix(f.name, "_total") || f.kind != counter && strings.HasSuffix(f.name, "_total") {
				t.Errorf("%s: by name and description no %s", f.name, f.kind)
			}
		}
	}
	if len(registered) > 0 {
		t.Errorf("served and not in the reference: %v", registered)
	}
}

// What a run costs here must not be seen beside its processes.
func BenchmarkObserveRun(b *testing.B) {
	m := New(Options{Log: slog.New(slog.DiscardHandler)})
	rec := ended(nil)
	b.ReportAllocs()
	for b.Loop() {
		m.ObserveRun(rec)
	}
}

func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := New(Options{Log: slog.New(slog.DiscardHandler), Objects: manyObjects(n)})
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			}
		})
	}
}
