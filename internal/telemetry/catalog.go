// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// kind is the type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

type family struct {
	name   string
	kind   kind
	help   string
	labels []string
}

// runBuckets range from a run without changes of a small stack to one that creates a cluster.
var runBuckets = []float64{0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800, 7200}

// Metrics that are counted as events happen.
var (
	runsTotal = family{"yuba_runs_total", counter, "Runs that ended. failure is the kind of failure if Yuba treats it specially, otherwise empty.",
		[]string{"operation", "purpose", "outcome", "failure"}}
	runSeconds = family{"yuba_run_duration_seconds", histogram, "Duration of runs, from their start by a runner to their result, without the time that prepared runs waited for a place. Manual operations are excluded.",
		[]string{"operation", "purpose", "outcome"}}
	runQueueSeconds = family{"yuba_run_queue_duration_seconds", histogram, "How long runs waited for a runner, and for a place there. urgency is awaited (requested by a person, or a deletion), change, review (a speculative plan) or drift.",
		[]string{"urgency"}}
	stepSeconds = family{"yuba_run_step_duration_seconds", histogram, "Duration of the steps of runs: prepare, init, plan, show, apply, output, and continue, which is the wait for the server's permission before an apply.",
		[]string{"step", "operation"}}
	stepCPU      = family{"yuba_run_step_cpu_seconds_total", counter, "User and system time of the processes of a step, providers included.", []string{"step"}}
	initsTotal   = family{"yuba_run_inits_total", counter, "Inits of runs by result: ran, unchanged or replayed. Only ran starts a process.", []string{"result"}}
	storeHits    = family{"yuba_provider_store_hits_total", counter, "Providers that runs needed and that the machine's store had.", nil}
	storeFetches = family{"yuba_provider_store_downloads_total", counter, "Providers that were downloaded.", nil}
	storeBytes   = family{"yuba_provider_store_downloaded_bytes_total", counter, "Size of the downloaded providers, unpacked.", nil}
	plansTotal   = family{"yuba_plans_total", counter, "Plans, by result: changes, none or failed.", []string{"purpose", "result"}}
	changedTotal = family{"yuba_resources_changed_total", counter, "Resources that applies changed, by action: add, change, destroy, import or forget.", []string{"action"}}
	driftFound   = family{"yuba_drift_found_total", counter, "Drift checks that found drift.", nil}
	driftMended  = family{"yuba_drift_repaired_total", counter, "Drift that was repaired automatically.", nil}
	lostTotal    = family{"yuba_resources_lost_total", counter, "Unproven resources: interrupted applies may have created or destroyed them without any state that proves it.", nil}
	decisions    = family{"yuba_stack_decisions_total", counter, "Reconciliations of stacks, by decision. verb rest is a reconciliation that needed no process; await-run, await-approval and wait continue on an event.",
		[]string{"verb", "reason"}}
	skipped       = family{"yuba_stack_passes_skipped_total", counter, "Reconciliations of stacks that started no process because nothing had to be done.", nil}
	writesTotal   = family{"yuba_api_writes_total", counter, "Requests of this server that write to its API, by resource (with subresource) and method.", []string{"resource", "method"}}
	fetchSeconds  = family{"yuba_source_look_duration_seconds", histogram, "Duration of checks for new revisions of sources, fetches included. result is new, unchanged or failed.", []string{"kind", "result"}}
	deploySeconds = family{"yuba_kustomization_apply_duration_seconds", histogram, "Duration of attempts to build and apply Kustomizations. result is succeeded or failed.", []string{"result"}}
)

// Metrics of the registry.
var (
	registryRequests = family{"yuba_registry_requests_total", counter, "Requests to the registry of modules and providers, by what they are about and the status of the answer.", []string{"kind", "status"}}
	registrySeconds  = family{"yuba_registry_request_duration_seconds", histogram, "Duration of requests to the registry, until the answer was sent.", []string{"kind"}}
	registryPackages = family{"yuba_registry_downloads_total", counter, "Archives that the registry sent. kind is module, provider or mirror, name NAMESPACE/NAME/SYSTEM or NAMESPACE/NAME, or \"other\" beyond 1000 names.", []string{"kind", "name"}}
)

// Metrics of tenants that are counted as events happen. The names are those of Tenant Operator.
var (
	tenantSeconds = family{"tenant_reconcile_duration_seconds", histogram, "Duration of reconciliations of Tenants. result is success, partial_failure (some objects failed) or error.", []string{"result"}}
	applyAttempts = family{"apply_attempts_total", counter, "Attempts to write objects of Tenants. result is success or error.", []string{"kind", "result", "conflict_policy"}}
)

// Metrics of single tenants and registries, on request, with the names of Tenant Operator.
var (
	tenantReady      = family{"tenant_resources_ready", gauge, "Objects of the Tenant that are ready.", []string{"tenant", "namespace"}}
	tenantDesired    = family{"tenant_resources_desired", gauge, "Objects that the Tenant should have.", []string{"tenant", "namespace"}}
	tenantFailed     = family{"tenant_resources_failed", gauge, "Objects of the Tenant that have failed, including conflicting ones.", []string{"tenant", "namespace"}}
	tenantConflicted = family{"tenant_resources_conflicted", gauge, "Objects that the Tenant should have but that have another owner.", []string{"tenant", "namespace"}}
	tenantConflicts  = family{"tenant_conflicts_total", counter, "Attempts to write an object that has another owner.", []string{"tenant", "namespace", "resource_kind", "conflict_policy"}}
	tenantCondition  = family{"tenant_condition_status", gauge, "Status of the Tenant's conditions: 0 for False, 1 for True, 2 for Unknown.", []string{"tenant", "namespace", "type"}}
	tenantDegraded   = family{"tenant_degraded_status", gauge, "1 for a Tenant whose condition Degraded is True.", []string{"tenant", "namespace", "reason"}}
	registryDesired  = family{"registry_desired", gauge, "Tenants that the registry's rows require.", []string{"registry", "namespace"}}
	registryReady    = family{"registry_ready", gauge, "Tenants of the registry that are ready.", []string{"registry", "namespace"}}
	registryFailed   = family{"registry_failed", gauge, "Tenants of the registry that have failed.", []string{"registry", "namespace"}}
)

// Metrics that are determined at each scrape.
var (
	buildInfo     = family{"yuba_build_info", gauge, "1, with the version of this server and of the default tool of runs.", []string{"version", "tool_version", "goversion"}}
	leads         = family{"yuba_leader", gauge, "1 if this process works, 0 if it is a replica that waits to take over. Then it has no metrics of objects and runs.", nil}
	queueRuns     = family{"yuba_queue_runs", gauge, "Runs that wait for a runner. class is urgent, changed, review or drift.", []string{"class", "namespace"}}
	queueOldest   = family{"yuba_queue_oldest_seconds", gauge, "How long the oldest waiting run has waited; 0 if none waits.", []string{"class"}}
	atWork        = family{"yuba_runs_at_work", gauge, "Runs that are executing now.", []string{"namespace", "operation", "purpose"}}
	prepared      = family{"yuba_runs_prepared", gauge, "Runs that are prepared and start as soon as a place is free.", nil}
	applying      = family{"yuba_runs_applying", gauge, "Executing runs that may make changes and hold the lock of their state.", nil}
	places        = family{"yuba_run_places", gauge, "Maximum number of concurrent runs (--concurrency).", nil}
	unstored      = family{"yuba_runs_unstored", gauge, "Reconciliations without changes that are not stored yet. A growing number means that writing to the blob store fails.", nil}
	runnerUp      = family{"yuba_runner_up", gauge, "1 while a runner polls for work or was seen within the last minute.", nil}
	runnerMemory  = family{"yuba_runner_resident_memory_bytes", gauge, "Memory of the runner process, as last reported.", nil}
	runnerCPU     = family{"yuba_runner_cpu_seconds_total", counter, "CPU time of the runner process (runner), and of the processes that it started and that have ended, providers included (tools).", []string{"process"}}
	objectsReady  = family{"yuba_objects", gauge, "Objects by status (True, False, Unknown) and reason of their condition Ready. Suspended ones are included.", []string{"kind", "namespace", "ready", "reason"}}
	objectsHeld   = family{"yuba_objects_suspended", gauge, "Suspended objects.", []string{"kind", "namespace"}}
	objectsFail   = family{"yuba_objects_failing", gauge, "Failing objects that need attention: Ready is False, and they are neither suspended, nor paused by a circuit breaker, nor waiting for a dependency. Drift counts in yuba_stacks_drifted.", []string{"kind", "namespace"}}
	stacksWaiting = family{"yuba_stacks_awaiting_approval", gauge, "Stacks whose plan waits for approval.", []string{"namespace"}}
	stacksDrifted = family{"yuba_stacks_drifted", gauge, "Stacks with detected drift that is not repaired yet.", []string{"namespace"}}
	stacksLocked  = family{"yuba_stacks_locked_out", gauge, "Stacks whose state is locked by another lock holder.", []string{"namespace"}}
	tenantsHeld   = family{"yuba_tenants_held", gauge, "Tenants whose deletion waits for confirmation.", []string{"namespace"}}
	breakersOpen  = family{"yuba_circuit_breakers_open", gauge, "Open circuit breakers, which pause automatic applies. opened_by is server for outages, or person for maintenance.", []string{"opened_by"}}
	stacksOut     = family{"yuba_stacks_failing_alike", gauge, "Stacks that fail because of the outage of an open circuit breaker.", nil}
	storePackages = family{"yuba_provider_store_packages", gauge, "Providers in the machine's store, at most a minute ago.", nil}
	storeSize     = family{"yuba_provider_store_bytes", gauge, "Size of the machine's provider store, at most a minute ago.", nil}
	moduleStacks  = family{"yuba_registry_module_stacks", gauge, "Stacks that use a version of a module of this registry, in effect or in a plan. Beyond the 500 most used versions, module and version are (others).", []string{"module", "version"}}
	noticeStacks  = family{"yuba_registry_notice_stacks", gauge, "Stacks that use a version of a module with a notice. notice is deprecated or revoked.", []string{"notice"}}
	diskFree      = family{"yuba_data_free_bytes", gauge, "Free space of the data directory's file system that this server may use.", nil}
	diskSize      = family{"yuba_data_size_bytes", gauge, "Size of the data directory's file system.", nil}
)

// Metrics with names of objects in their labels, on request (--metrics-per-object).
var (
	gotkDuration = family{"gotk_reconcile_duration_seconds", histogram, "As in Flux and tofu-controller. For a Terraform it is a run, from request to result; for a source a check, for a Kustomization an attempt.",
		[]string{"kind", "name", "namespace"}}
	gotkCondition = family{"gotk_reconcile_condition", gauge, "As in Flux before version 2.1: 1 for the current status of the object's condition. The only type is Ready.",
		[]string{"kind", "name", "namespace", "type", "status"}}
	gotkSuspend = family{"gotk_suspend_status", gauge, "As in Flux before version 2.1: 1 for a suspended object, otherwise 0.", []string{"kind", "name", "namespace"}}
	gotkInfo    = family{"gotk_resource_info", gauge, "1 for each object, with the labels of Flux's configuration of kube-state-metrics.",
		[]string{"customresource_group", "customresource_version", "customresource_kind", "exported_namespace", "name", "ready", "suspended", "revision", "source_name"}}
)

// chapter is a section of the reference.
type chapter struct {
	title, text string
	families    []*family
}

var chapters = []chapter{
	{"Runs", "", []*family{&runsTotal, &runSeconds, &runQueueSeconds, &stepSeconds, &stepCPU, &initsTotal, &storeHits, &storeFetches, &storeBytes, &plansTotal, &changedTotal, &driftFound, &driftMended, &lostTotal}},
	{"The queue and the runner", "", []*family{&queueRuns, &queueOldest, &atWork, &prepared, &applying, &places, &unstored, &runnerUp, &runnerMemory, &runnerCPU}},
	{"Stacks, sources and Kustomizations", "Counted from the controllers' caches at each scrape, without API requests.",
		[]*family{&objectsReady, &objectsHeld, &objectsFail, &stacksWaiting, &stacksDrifted, &stacksLocked, &breakersOpen, &stacksOut, &decisions, &skipped, &fetchSeconds, &deploySeconds}},
	{"Tenants", "The number of tenants and their status is in `yuba_objects` and `yuba_objects_failing` with the kinds `Tenant`, `TenantTemplate` and `TenantRegistry`.",
		[]*family{&tenantSeconds, &applyAttempts, &tenantsHeld}},
	{"The registry", "", []*family{&registryRequests, &registrySeconds, &registryPackages, &moduleStacks, &noticeStacks}},
	{"The server", "", []*family{&buildInfo, &leads, &writesTotal, &storePackages, &storeSize, &diskFree, &diskSize}},
	{"For each object, optional", "These have the names that dashboards of Flux and of tofu-controller use. Their labels name objects, so there are about twenty series for each object. " +
		"Enable them with `--metrics-per-object`.", []*family{&gotkDuration, &gotkInfo, &gotkCondition, &gotkSuspend}},
	{"For each tenant, optional", "These have the names that dashboards of Tenant Operator use. Enable them with `--metrics-per-object`.",
		[]*family{&tenantReady, &tenantDesired, &tenantFailed, &tenantConflicted, &tenantConflicts, &tenantCondition, &tenantDegraded, &registryDesired, &registryReady, &registryFailed}},
}

// descsOf describes metrics that are determined at each scrape, once for all servers.
func descsOf(families ...*family) map[*family]*prometheus.Desc {
	m := map[*family]*prometheus.Desc{}
	for _, f := range families {
		m[f] = prometheus.NewDesc(f.name, f.help, f.labels, nil)
	}
	return m
}

func (f *family) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
}

func (f *family) histograms(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.name, Help: f.help, Buckets: buckets}, f.labels)
}

// Reference returns the reference page of all metrics.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Metrics

<!-- Written by internal/telemetry/reference from internal/telemetry/catalog.go. To change it, change that and run "make generate". -->

Metrics that Yuba exports to Prometheus. [Observe](../how-to/observe.md) describes scraping, the dashboard and alert rules.

Times are in seconds, sizes in bytes. Labels have few values: beyond 1000 namespaces, 200 reasons or 200 resources, the rest
counts as ` + "`(others)`" + `. The metrics of controller-runtime are included: ` + "`controller_runtime_reconcile_time_seconds`" + ` and
` + "`workqueue_depth`" + ` show how busy the controllers are (` + "`stack`, `kustomization`, `gitrepository`" + ` …), ` + "`rest_client_requests_total`" + ` their
API requests, ` + "`process_resident_memory_bytes`, `process_cpu_seconds_total` and `go_*`" + ` the resources that the server uses.
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
