// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object is one of YAML, with numbers as they come from an API.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return u
}

// of describes how an object stands: "ready", "failed: Reason: message" or "Reason: message".
func of(r Readiness) string {
	switch {
	case r.Ready:
		return "ready"
	case r.Failed:
		return "failed: " + r.Reason + ": " + r.Message
	}
	return r.Reason + ": " + r.Message
}

// verdicts holds objects of one kind, given without apiVersion and kind, against how they stand.
func verdicts(t *testing.T, kind string, table map[string]string) {
	t.Helper()
	apiVersion, name, _ := strings.Cut(kind, " ")
	for in, want := range table {
		text := "{apiVersion: " + apiVersion + ", kind: " + name + ", " + strings.TrimPrefix(strings.ReplaceAll(in, "\t", " "), "{")
		if diff := cmp.Diff(want, of(Of(object(t, text), false))); diff != "" {
			t.Errorf("%s %s\n%s", kind, in, diff)
		}
	}
}

func TestKindsOfKubernetes(t *testing.T) {
	for _, kind := range []string{"v1 ConfigMap", "v1 Secret", "v1 ServiceAccount", "batch/v1 CronJob", "policy/v1 PodDisruptionBudget", "networking.k8s.io/v1 NetworkPolicy",
		"rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 ClusterRoleBinding", "v1 ResourceQuota", "storage.k8s.io/v1 StorageClass", "v1 Service"} {
		verdicts(t, kind, map[string]string{
			`{metadata: {name: x, generation: 3}}`:                             "ready",
			`{metadata: {name: x, deletionTimestamp: "2026-01-02T03:04:05Z"}}`: "Terminating: it is being deleted",
		})
	}
	verdicts(t, "v1 Namespace", map[string]string{
		`{}`:                             "Progressing: its phase is unknown, not Active",
		`{status: {phase: Active}}`:      "ready",
		`{status: {phase: Terminating}}`: "Progressing: its phase is Terminating, not Active",
	})
	verdicts(t, "v1 Service", map[string]string{
		`{spec: {type: ClusterIP}}`:    "ready",
		`{spec: {type: LoadBalancer}}`: "Progressing: its load balancer has no address yet",
		`{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`: "ready",
	})
	verdicts(t, "v1 PersistentVolumeClaim", map[string]string{
		`{}`:                         "Progressing: its phase is unknown, not Bound",
		`{status: {phase: Pending}}`: "Progressing: its phase is Pending, not Bound",
		`{status: {phase: Bound}}`:   "ready",
		`{status: {phase: Lost}}`:    "failed: Lost: its volume is gone",
	})
	verdicts(t, "v1 Pod", map[string]string{
		`{}`:                         "Progressing: its phase is unknown",
		`{status: {phase: Running}}`: "Progressing: its phase is Running",
		`{status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`:                                                   "ready",
		`{status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: one of two}]}}`: "ContainersNotReady: one of two",
		`{status: {phase: Succeeded}}`:                                  "ready",
		`{status: {phase: Failed, reason: Evicted, message: no space}}`: "failed: Evicted: no space",
		`{status: {phase: Failed}}`:                                     "failed: Failed: it has failed",
	})
	verdicts(t, "networking.k8s.io/v1 Ingress", map[string]string{
		`{}`:                           "Progressing: it has neither rules nor an address",
		`{spec: {rules: [{host: a}]}}`: "ready",
		`{spec: {defaultBackend: {service: {name: a}}}}`:             "ready",
		`{status: {loadBalancer: {ingress: [{hostname: a}]}}}`:       "ready",
		`{spec: {rules: []}, status: {loadBalancer: {ingress: []}}}`: "Progressing: it has neither rules nor an address",
	})
	verdicts(t, "autoscaling/v2 HorizontalPodAutoscaler", map[string]string{
		`{}`: "NoConditions: it has no condition AbleToScale yet",
		`{status: {conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False"}]}}`:   "ready",
		`{status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: no app}]}}`: "FailedGetScale: no app",
	})
	verdicts(t, "apiextensions.k8s.io/v1 CustomResourceDefinition", map[string]string{
		`{}`: "NoConditions: it has no condition Established yet",
		`{status: {conditions: [{type: Established, status: "True"}]}}`: "ready",
	})
}

func TestWorkloads(t *testing.T) {
	verdicts(t, "apps/v1 Deployment", map[string]string{
		`{metadata: {generation: 1}}`: "NotObserved: its controller has not seen generation 1 yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`:                                           "NotObserved: its controller has not seen generation 2 yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`:                                           "ready",
		`{metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, replicas: 4, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 3}}`:         "Progressing: 2 of 3 Pods are of the present template",
		`{metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 2}}`:                      "Progressing: 2 of 3 Pods are ready",
		`{metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 1}}`:                      "Progressing: 1 of 3 Pods are available",
		`{metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3}}`:                      "ready",
		`{metadata: {generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`:                                                                                  "ScaledToZero: spec.replicas is 0, so it has no Pods",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: stuck}]}}`: "failed: ProgressDeadlineExceeded: stuck",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: over quota}]}}`:      "FailedCreate: over quota",
	})
	verdicts(t, "apps/v1 StatefulSet", map[string]string{
		`{metadata: {generation: 1}}`: "NotObserved: its controller has not seen generation 1 yet",
		`{metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}}`:                                                                       "ready",
		`{metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2}}`:                                                                       "Progressing: 1 of 2 Pods are of the present template",
		`{metadata: {generation: 1}, spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2}}`: "ready",
		`{metadata: {generation: 1}, spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, updatedReplicas: 0, readyReplicas: 2, availableReplicas: 2}}`:                                     "ready",
		`{metadata: {generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`:                                                                                                                                   "ScaledToZero: spec.replicas is 0, so it has no Pods",
	})
	verdicts(t, "apps/v1 DaemonSet", map[string]string{
		`{metadata: {generation: 1}, status: {observedGeneration: 1}}`: "ScaledToZero: no node matches, so it has no Pods",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2}}`: "ready",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 1}}`:                                                                "Progressing: 1 of 2 Pods are scheduled",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 1, numberAvailable: 1}}`: "Progressing: 1 of 2 Pods are ready",
	})
	verdicts(t, "apps/v1 ReplicaSet", map[string]string{
		`{metadata: {generation: 1}, status: {observedGeneration: 1, readyReplicas: 1, availableReplicas: 1}}`: "ready",
		`{metadata: {generation: 1}, status: {observedGeneration: 1}}`:                                         "Progressing: 0 of 1 Pods are ready",
	})
	verdicts(t, "batch/v1 Job", map[string]string{
		`{}`: "Progressing: 0 of 1 Pods have succeeded",
		`{status: {conditions: [{type: Complete, status: "True"}]}}`: "ready",
		`{status: {succeeded: 1}}`:                                   "ready",
		`{spec: {completions: 3}, status: {succeeded: 1}}`:           "Progressing: 1 of 3 Pods have succeeded",
		`{spec: {suspend: true}}`:                                    "Suspended: spec.suspend is true",
		`{status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: six times}]}}`: "failed: BackoffLimitExceeded: six times",
	})
}

func TestCustomKinds(t *testing.T) {
	verdicts(t, "example.org/v1 Database", map[string]string{
		`{metadata: {generation: 1}}`:                              "NoConditions: it has no conditions yet",
		`{status: {phase: Ready}}`:                                 "NoConditions: it has no conditions yet",
		`{status: {conditions: []}}`:                               "NoConditions: it has no conditions yet",
		`{status: {conditions: [{type: Synced, status: "True"}]}}`: "NoConditions: it has no condition Ready yet",
		`{metadata: {generation: 7}, status: {conditions: [{type: Ready, status: "True"}]}}`:                                           "ready",
		`{metadata: {generation: 7}, status: {observedGeneration: 6, conditions: [{type: Ready, status: "True"}]}}`:                    "NotObserved: its controller has not seen generation 7 yet",
		`{metadata: {generation: 7}, status: {observedGeneration: 7, conditions: [{type: Ready, status: "True"}]}}`:                    "ready",
		`{metadata: {generation: 7}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 6}]}}`:                    "NotObserved: its controller has not seen generation 7 yet",
		`{status: {conditions: [{type: Ready, status: "False", reason: Creating, message: soon}]}}`:                                    "Creating: soon",
		`{status: {conditions: [{type: Ready, status: Unknown}]}}`:                                                                     "Progressing: its condition Ready is Unknown",
		`{status: {conditions: [{type: Ready, status: "False", reason: R, message: m}, {type: Stalled, status: "True"}]}}`:             "failed: R: m",
		`{status: {conditions: [{type: Stalled, status: "True", reason: Wrong, message: never}]}}`:                                     "failed: Wrong: never",
		`{status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True"}]}}`:                                     "ready",
		`{metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {conditions: [{type: Ready, status: "True"}]}}`:               "Terminating: it is being deleted",
		`{metadata: {generation: 7}, status: {observedGeneration: 7, conditions: [x, 7, {status: "True"}, {type: Ready, status: 1}]}}`: "Progressing: its condition Ready is Unknown",
	})
	// Kinds of the same name as Kubernetes' own are not theirs.
	verdicts(t, "serving.knative.dev/v1 Service", map[string]string{`{}`: "NoConditions: it has no conditions yet"})
	verdicts(t, "gateway.networking.k8s.io/v1 Gateway", map[string]string{`{}`: "NoConditions: it has no conditions yet"})
}

func TestKindsWithoutStatus(t *testing.T) {
	for in, want := range map[string]string{
		`{apiVersion: example.org/v1, kind: Plan}`: "ready",
		`{apiVersion: example.org/v1, kind: Plan, status: {conditions: [{type: Ready, status: "False", reason: Not}]}}`:               "Not: its condition Ready is False",
		`{apiVersion: example.org/v1, kind: Plan, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}}`:                             "Terminating: it is being deleted",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}}`:                                                          "NotObserved: its controller has not seen generation 1 yet",
		`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {generation: 1}, status: {observedGeneration: 1}}`: "NoConditions: it has no condition Ready yet",
	} {
		if got := of(Of(object(t, in), true)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestStacks(t *testing.T) {
	const ok = `{type: Ready, status: "True", observedGeneration: 2}`
	verdicts(t, "infra.contrib.fluxcd.io/v1alpha2 Terraform", map[string]string{
		`{metadata: {generation: 1}, status: {observedGeneration: -1}}`: "NotObserved: its controller has not seen generation 1 yet",
		`{metadata: {generation: 1}}`:                                   "NotObserved: its controller has not seen generation 1 yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, lastAppliedRevision: r, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`:                                                                                "NotObserved: its controller has not seen generation 2 yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, lastAppliedRevision: r, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`:                                                                                "NotObserved: its controller has not seen generation 2 yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, lastAppliedRevision: r, conditions: [` + ok + `]}}`:                                                                                                                          "ready",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, inventory: {entries: [{"n": a, "t": b, id: c}]}, conditions: [` + ok + `]}}`:                                                                                                 "ready",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [` + ok + `]}}`:                                                                                                                                                  "NotApplied: the stack is planned, but not applied yet",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [` + ok + `, {type: Plan, status: "False", reason: TerraformPlannedNoChanges}]}}`:                                                                                "ready",
		`{metadata: {generation: 2}, spec: {writeOutputsToSecret: {name: o}}, status: {observedGeneration: 2, conditions: [` + ok + `, {type: Plan, status: "False", reason: TerraformPlannedNoChanges}]}}`:                                       "NotApplied: the stack is planned, but not applied yet",
		`{metadata: {generation: 2, name: vpc, namespace: a}, status: {observedGeneration: 2, lastAppliedRevision: r, plan: {pending: plan-1}, conditions: [{type: Ready, status: Unknown}]}}`:                                                    "PlanPending: the plan plan-1 waits for approval; approve it with yuba approve vpc -n a",
		`{metadata: {generation: 2, name: vpc, namespace: a}, status: {observedGeneration: 2, lastAppliedRevision: r, plan: {pending: plan-1}, conditions: [` + ok + `]}}`:                                                                        "PlanPending: the plan plan-1 waits for approval; approve it with yuba approve vpc -n a",
		`{metadata: {generation: 2}, spec: {planOnly: true}, status: {observedGeneration: 2, conditions: [` + ok + `]}}`:                                                                                                                          "NeverApplies: the stack only makes plans: spec.planOnly is true, or spec.approvePlan is disable",
		`{metadata: {generation: 2}, spec: {approvePlan: disable}, status: {observedGeneration: 2, conditions: [` + ok + `]}}`:                                                                                                                    "NeverApplies: the stack only makes plans: spec.planOnly is true, or spec.approvePlan is disable",
		`{metadata: {generation: 2}, spec: {destroy: true}, status: {observedGeneration: 2, conditions: [` + ok + `]}}`:                                                                                                                           "ready",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: TFExecPlanFailed, message: broken}]}}`:                                                                                   "TFExecPlanFailed: broken",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: TFExecPlanFailed, message: broken}, {type: Stalled, status: "True", reason: RetryLimitReached, message: three times}]}}`: "failed: RetryLimitReached: broken",
		`{metadata: {generation: 1, name: vpc, namespace: a}, spec: {suspend: true}}`:                                                                                                                                                             "Suspended: spec.suspend is true; resume it with yuba resume vpc -n a",
		`{metadata: {generation: 2, name: vpc, namespace: a}, spec: {suspend: true}, status: {observedGeneration: 2}}`:                                                                                                                            "Suspended: spec.suspend is true; resume it with yuba resume vpc -n a",
		`{metadata: {generation: 2}, spec: {suspend: true}, status: {observedGeneration: 2, lastAppliedRevision: r, conditions: [` + ok + `]}}`:                                                                                                   "ready",
		`{metadata: {generation: 2, deletionTimestamp: "2026-01-02T03:04:05Z"}, status: {observedGeneration: 2, lastAppliedRevision: r, conditions: [` + ok + `]}}`:                                                                               "Terminating: it is being deleted",
	})
	// Another group's kind of the same name has no such rules.
	verdicts(t, "example.org/v1 Terraform", map[string]string{`{status: {conditions: [{type: Ready, status: "True"}]}}`: "ready"})
}

func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, in := range []string{
		`{apiVersion: example.org/v1, kind: X, status: {conditions: [{type: Ready, status: "False", reason: R, message: ` + long + `}]}}`,
		`{apiVersion: v1, kind: Namespace, status: {phase: ` + long + `}}`,
		`{apiVersion: example.org/v1, kind: X, status: {conditions: [{type: Stalled, status: "True", message: ` + long + `}]}}`,
	} {
		if r := Of(object(t, in), false); len([]rune(r.Message)) != longest+1 || !strings.HasSuffix(r.Message, "…") {
			t.Errorf("%d characters: %s", len([]rune(r.Message)), r.Message)
		}
	}
}

// FuzzOf: statuses are written by controllers of anybody's.
func FuzzOf(f *testing.F) {
	for gk := range rules {
		version := gk.Group + "/v1"
		if gk.Group == "" {
			version = "v1"
		}
		f.Add(version, gk.Kind, `{"replicas": 1}`, `{"observedGeneration": 1, "phase": "Active", "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}], "plan": {"pending": "x"}}`)
	}
	f.Add("example.org/v1", "X", `[]`, `{"conditions": {"type": 3}, "observedGeneration": "x", "plan": [], "inventory": {"entries": {}}}`)
	f.Fuzz(func(t *testing.T, apiVersion, kind, spec, status string) {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x", "generation": int64(1)}}}
		for name, text := range map[string]string{"spec": spec, "status": status} {
			var value any
			if json.Unmarshal([]byte(text), &value) != nil {
				return
			}
			o.Object[name] = value
		}
		for _, statusless := range []bool{false, true} {
			switch r := Of(o, statusless); {
			case r.Ready && r != isReady, !r.Ready && (r.Reason == "" || r.Message == ""), r.Ready && r.Failed:
				t.Errorf("%s %s with %s and %s: %+v", apiVersion, kind, spec, status, r)
			}
		}
	})
}
