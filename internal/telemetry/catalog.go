// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// kind is what a metric is.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// family is one metric.
type family struct {
	name   string
	kind   kind
	help   string
	labels []string
}

// runBuckets reach from a run that changes nothing of a small stack to one that makes a cluster.
var runBuckets = []float64{0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800, 7200}

// The metrics that are counted when something happens.
var (
	runsTotal = family{"yuba_runs_total", counter, "Runs that ended. failure is the kind of a failure that calls for a decision of its own, empty for any other and for success.",
		[]string{"operation", "purpose", "outcome", "failure"}}
	runSeconds = family{"yuba_run_duration_seconds", histogram, "How long runs took, from their beginning with a runner to their result, less what those that were prepared waited for a place. What people do by hand is left out.",
		[]string{"operation", "purpose", "outcome"}}
	runQueueSeconds = family{"yuba_run_queue_duration_seconds", histogram, "How long runs waited for a runner, and for a place there. urgency is awaited (a person asked, an object is to go), change or drift.",
		[]string{"urgency"}}
	stepSeconds = family{"yuba_run_step_duration_seconds", histogram, "How long the steps of runs took: prepare, init, plan, show, apply, output, and continue, which is the wait for the server's word before an apply.",
		[]string{"step", "operation"}}
	stepCPU      = family{"yuba_run_step_cpu_seconds_total", counter, "User and system time of the processes of a step, providers included.", []string{"step"}}
	initsTotal   = family{"yuba_run_inits_total", counter, "What became of the inits of runs: ran, unchanged or replayed. Only the first starts a process.", []string{"result"}}
	storeHits    = family{"yuba_provider_store_hits_total", counter, "Providers that runs needed and the store of the machine had.", nil}
	storeFetches = family{"yuba_provider_store_downloads_total", counter, "Providers that had to be downloaded.", nil}
	storeBytes   = family{"yuba_provider_store_downloaded_bytes_total", counter, "What the downloaded providers take, unpacked.", nil}
	plansTotal   = family{"yuba_plans_total", counter, "Plans that were made, by result: changes, none or failed.", []string{"purpose", "result"}}
	changedTotal = family{"yuba_resources_changed_total", counter, "Resources that applies changed, by action: add, change, destroy, import or forget.", []string{"action"}}
	driftFound   = family{"yuba_drift_found_total", counter, "Looks for drift that found some.", nil}
	driftMended  = family{"yuba_drift_repaired_total", counter, "Drift that was repaired without anybody being asked.", nil}
	lostTotal    = family{"yuba_resources_lost_total", counter, "Resources that applies which were cut off may have made or destroyed without any state proving it.", nil}
	decisions    = family{"yuba_stack_decisions_total", counter, "Passes over stacks, by what was decided. verb rest is a pass that was proven to need no process; await-run, await-approval and wait go on when something happens.",
		[]string{"verb", "reason"}}
	skipped       = family{"yuba_stack_passes_skipped_total", counter, "Passes over stacks that started no process because it was proven that there is nothing to do.", nil}
	writesTotal   = family{"yuba_api_writes_total", counter, "Requests of this server that write to its API, by resource (with subresource) and method.", []string{"resource", "method"}}
	fetchSeconds  = family{"yuba_source_look_duration_seconds", histogram, "How long looks for news of sources took, fetches included. result is new, unchanged or failed.", []string{"kind", "result"}}
	deploySeconds = family{"yuba_kustomization_apply_duration_seconds", histogram, "How long attempts took to build and apply Kustomizations. result is succeeded or failed.", []string{"result"}}
)

// The metrics of tenants that are counted when something happens. They have the names that the Tenant Operator gave them.
var (
	tenantSeconds = family{"tenant_reconcile_duration_seconds", histogram, "How long passes over Tenants took. result is success, partial_failure (some object has failed) or error.", []string{"result"}}
	applyAttempts = family{"apply_attempts_total", counter, "Attempts to write objects of Tenants. result is success or error.", []string{"kind", "result", "conflict_policy"}}
)

// The metrics of each tenant and registry, which are there when they are asked for, with the names that the Tenant Operator
// gave them.
var (
	tenantReady      = family{"tenant_resources_ready", gauge, "Objects of the Tenant that are ready.", []string{"tenant", "namespace"}}
	tenantDesired    = family{"tenant_resources_desired", gauge, "Objects that the Tenant should have.", []string{"tenant", "namespace"}}
	tenantFailed     = family{"tenant_resources_failed", gauge, "Objects of the Tenant that have failed, those of somebody else among them.", []string{"tenant", "namespace"}}
	tenantConflicted = family{"tenant_resources_conflicted", gauge, "Objects that the Tenant should have and that belong to somebody else.", []string{"tenant", "namespace"}}
	tenantConflicts  = family{"tenant_conflicts_total", counter, "Attempts to write an object that turned out to belong to somebody else.", []string{"tenant", "namespace", "resource_kind", "conflict_policy"}}
	tenantCondition  = family{"tenant_condition_status", gauge, "How the Tenant's conditions stand: 0 for False, 1 for True, 2 for Unknown.", []string{"tenant", "namespace", "type"}}
	tenantDegraded   = family{"tenant_degraded_status", gauge, "1 for a Tenant whose condition Degraded is True.", []string{"tenant", "namespace", "reason"}}
	registryDesired  = family{"registry_desired", gauge, "Tenants that the registry's rows ask for.", []string{"registry", "namespace"}}
	registryReady    = family{"registry_ready", gauge, "Tenants of the registry that are ready.", []string{"registry", "namespace"}}
	registryFailed   = family{"registry_failed", gauge, "Tenants of the registry that have failed.", []string{"registry", "namespace"}}
)

// The metrics that are found out when somebody scrapes.
var (
	buildInfo     = family{"yuba_build_info", gauge, "1, with the version of this server and of the tool that runs use by default.", []string{"version", "tool_version", "goversion"}}
	queueRuns     = family{"yuba_queue_runs", gauge, "Runs that wait for a runner. class is urgent, changed or drift.", []string{"class", "namespace"}}
	queueOldest   = family{"yuba_queue_oldest_seconds", gauge, "How long the run has waited that has waited longest; 0 when none waits.", []string{"class"}}
	atWork        = family{"yuba_runs_at_work", gauge, "Runs that are carried out now.", []string{"namespace", "operation", "purpose"}}
	prepared      = family{"yuba_runs_prepared", gauge, "Runs that are prepared beside those at work, and begin as soon as a place is free.", nil}
	applying      = family{"yuba_runs_applying", gauge, "Runs among them that may change something and hold the lock of their state.", nil}
	places        = family{"yuba_run_places", gauge, "How many runs may be carried out at a time (--concurrency).", nil}
	unstored      = family{"yuba_runs_unstored", gauge, "Passes that found nothing and are not on record yet. A number that grows says that the blob store does not take what is written.", nil}
	runnerUp      = family{"yuba_runner_up", gauge, "1 while a runner asks for work or was heard within the last minute.", nil}
	runnerMemory  = family{"yuba_runner_resident_memory_bytes", gauge, "Memory of the runner itself, as it told last.", nil}
	runnerCPU     = family{"yuba_runner_cpu_seconds_total", counter, "CPU time of the runner itself (runner) and of the processes that it started and that have ended, providers included (tools).", []string{"process"}}
	objectsReady  = family{"yuba_objects", gauge, "Objects by how they stand: the status (True, False, Unknown) and the reason of their condition Ready. Suspended ones are among them.", []string{"kind", "namespace", "ready", "reason"}}
	objectsHeld   = family{"yuba_objects_suspended", gauge, "Objects that are suspended.", []string{"kind", "namespace"}}
	objectsFail   = family{"yuba_objects_failing", gauge, "Objects that fail and that somebody has to look after: Ready is False, and they are neither suspended, nor paused by a circuit breaker, nor waiting for an object that they depend on. Drift counts in yuba_stacks_drifted.", []string{"kind", "namespace"}}
	stacksWaiting = family{"yuba_stacks_awaiting_approval", gauge, "Stacks whose plan waits for a person.", []string{"namespace"}}
	stacksDrifted = family{"yuba_stacks_drifted", gauge, "Stacks that were found to differ from the world and were not repaired yet.", []string{"namespace"}}
	stacksLocked  = family{"yuba_stacks_locked_out", gauge, "Stacks whose state is locked by somebody else.", []string{"namespace"}}
	tenantsHeld   = family{"yuba_tenants_held", gauge, "Tenants that would be deleted and that wait for somebody to confirm it.", []string{"namespace"}}
	breakersOpen  = family{"yuba_circuit_breakers_open", gauge, "Circuit breakers that are open: automatic applies of what they cover are paused. opened_by is server, which sees outages, or person, for maintenance.", []string{"opened_by"}}
	stacksOut     = family{"yuba_stacks_failing_alike", gauge, "Stacks that fail because of what the open circuit breakers stand for.", nil}
	storePackages = family{"yuba_provider_store_packages", gauge, "Providers in the store of the machine, at most a minute ago.", nil}
	storeSize     = family{"yuba_provider_store_bytes", gauge, "What they take, at most a minute ago.", nil}
	diskFree      = family{"yuba_data_free_bytes", gauge, "Free space where the data directory is, as far as this server may use it.", nil}
	diskSize      = family{"yuba_data_size_bytes", gauge, "Size of the file system where the data directory is.", nil}
)

// The metrics that have names of objects among their labels: they are there when they are asked for (--metrics-per-object).
var (
	gotkDuration = family{"gotk_reconcile_duration_seconds", histogram, "As Flux and tofu-controller have it. For a Terraform it is a run, from when it was asked for to its result; for a source a look, for a Kustomization an attempt.",
		[]string{"kind", "name", "namespace"}}
	gotkCondition = family{"gotk_reconcile_condition", gauge, "As Flux had it before version 2.1: 1 for the status that the object's condition has. The only type is Ready.",
		[]string{"kind", "name", "namespace", "type", "status"}}
	gotkSuspend = family{"gotk_suspend_status", gauge, "As Flux had it before version 2.1: 1 for an object that is suspended, 0 for any other.", []string{"kind", "name", "namespace"}}
	gotkInfo    = family{"gotk_resource_info", gauge, "1 for each object, with the labels that Flux's configuration of kube-state-metrics gives it.",
		[]string{"customresource_group", "customresource_version", "customresource_kind", "exported_namespace", "name", "ready", "suspended", "revision", "source_name"}}
)

// chapter is a part of the reference.
type chapter struct {
	title, text string
	families    []*family
}

var chapters = []chapter{
	{"Runs", "", []*family{&runsTotal, &runSeconds, &runQueueSeconds, &stepSeconds, &stepCPU, &initsTotal, &storeHits, &storeFetches, &storeBytes, &plansTotal, &changedTotal, &driftFound, &driftMended, &lostTotal}},
	{"The queue and the runner", "", []*family{&queueRuns, &queueOldest, &atWork, &prepared, &applying, &places, &unstored, &runnerUp, &runnerMemory, &runnerCPU}},
	{"Stacks, sources and Kustomizations", "Counted from the controllers' caches when somebody scrapes; the API is not asked.",
		[]*family{&objectsReady, &objectsHeld, &objectsFail, &stacksWaiting, &stacksDrifted, &stacksLocked, &breakersOpen, &stacksOut, &decisions, &skipped, &fetchSeconds, &deploySeconds}},
	{"Tenants", "How many there are, and how they stand, is in `yuba_objects` and `yuba_objects_failing` with the kinds `Tenant`, `TenantTemplate` and `TenantRegistry`.",
		[]*family{&tenantSeconds, &applyAttempts, &tenantsHeld}},
	{"The server", "", []*family{&buildInfo, &writesTotal, &storePackages, &storeSize, &diskFree, &diskSize}},
	{"For each object, when asked for", "These have the names that dashboards of Flux and of tofu-controller use. Their labels name objects, so there are some twenty series for each object; " +
		"they are there with `--metrics-per-object`.", []*family{&gotkDuration, &gotkInfo, &gotkCondition, &gotkSuspend}},
	{"For each tenant, when asked for", "These have the names that dashboards of the Tenant Operator use. They are there with `--metrics-per-object`, too.",
		[]*family{&tenantReady, &tenantDesired, &tenantFailed, &tenantConflicted, &tenantConflicts, &tenantCondition, &tenantDegraded, &registryDesired, &registryReady, &registryFailed}},
}

func (f *family) desc() *prometheus.Desc { return prometheus.NewDesc(f.name, f.help, f.labels, nil) }

func (f *family) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
}

func (f *family) histograms() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.name, Help: f.help, Buckets: runBuckets}, f.labels)
}

// Names lists the metrics there are, as queries name them: a histogram is its buckets, sum and count.
func Names() []string {
	var names []string
	for _, c := range chapters {
		for _, f := range c.families {
			if f.kind != histogram {
				names = append(names, f.name)
				continue
			}
			names = append(names, f.name+"_bucket", f.name+"_sum", f.name+"_count")
		}
	}
	return names
}

// Reference is the page about all metrics.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

<!-- Written by internal/telemetry/reference from internal/telemetry/catalog.go. To change it, change that and run "make generate". -->

What Yuba tells Prometheus. Where to scrape it, with dashboard and alert rules, is in [Observe](../how-to/observe.md).

Times are in seconds, sizes in bytes. Labels have few values: beyond 1000 namespaces, 200 reasons or 200 resources the rest is
counted as ` + "`(others)`" + `. The metrics of controller-runtime come along: ` + "`controller_runtime_reconcile_time_seconds`" + ` and
` + "`workqueue_depth`" + ` tell how busy the controllers are (` + "`stack`, `kustomization`, `gitrepository`" + ` …), ` + "`rest_client_requests_total`" + ` what they
ask of the API, ` + "`process_resident_memory_bytes`, `process_cpu_seconds_total` and `go_*`" + ` what the server takes.
`)
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n", c.title)
		if c.text != "" {
			b.WriteString(c.text + "\n\n")
		}
		b.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
		for _, f := range c.families {
			labels := ""
			if len(f.labels) > 0 {
				labels = "`" + strings.Join(f.labels, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, labels, f.help)
		}
	}
	return b.String()
}
