// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Readiness is the readiness of an object.
type Readiness struct {
	Ready, Failed bool
	// Reason is one word, Message a sentence without its full stop; empty if the object is ready.
	Reason, Message string
}

// The reasons of objects that are not ready, besides those of their own conditions.
const (
	// ReasonTerminating: it is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonNotObserved: its controller has not seen its current generation.
	ReasonNotObserved = "NotObserved"
	// ReasonNoConditions: its controller has not reported anything.
	ReasonNoConditions = "NoConditions"
	// ReasonProgressing: its controller is working on it.
	ReasonProgressing = "Progressing"
	// ReasonFailed: it has failed.
	ReasonFailed = "Failed"
	// ReasonScaledToZero: it has no Pods, so it serves no requests.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended: it is suspended.
	ReasonSuspended = "Suspended"
	// ReasonPlanPending: a plan of a stack waits for approval.
	ReasonPlanPending = "PlanPending"
	// ReasonNeverApplies: a stack only makes plans.
	ReasonNeverApplies = "NeverApplies"
	// ReasonNotApplied: a stack has not been applied yet.
	ReasonNotApplied = "NotApplied"
)

// plain are kinds whose objects are ready as soon as they exist.
var plain = map[schema.GroupKind]bool{
	{Kind: "Secret"}: true, {Kind: "ConfigMap"}: true, {Kind: "ServiceAccount"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
}

// Plain reports whether objects of a kind are ready as soon as they exist.
func Plain(kind schema.GroupKind) bool { return plain[kind] }

var isReady = Readiness{Ready: true}

func waiting(reason, format string, args ...any) Readiness {
	return Readiness{Reason: reason, Message: short(fmt.Sprintf(format, args...))}
}

func failed(reason, message string) Readiness {
	return Readiness{Failed: true, Reason: cmp.Or(reason, ReasonFailed), Message: short(cmp.Or(message, "it has failed"))}
}

// Of returns the readiness of an object. statusless: its kind is known to have no status.
func Of(o *unstructured.Unstructured, statusless bool) Readiness {
	if o.GetDeletionTimestamp() != nil {
		return waiting(ReasonTerminating, "it is being deleted")
	}
	gk := o.GroupVersionKind().GroupKind()
	if rule := rules[gk]; rule != nil {
		return rule(o)
	}
	if builtin[gk.Group] {
		return ofBuiltin(o)
	}
	return ofCustom(o, statusless)
}

// rules are for kinds with a status of their own. All other builtin kinds are ready when they
// exist, unless they have a condition Ready.
var rules = map[schema.GroupKind]func(o *unstructured.Unstructured) Readiness{
	{Group: "", Kind: "Namespace"}:                                    ofPhase("Active"),
	{Group: "", Kind: "PersistentVolumeClaim"}:                        ofClaim,
	{Group: "", Kind: "Pod"}:                                          ofPod,
	{Group: "", Kind: "Service"}:                                      ofService,
	{Group: "apps", Kind: "Deployment"}:                               ofDeployment,
	{Group: "apps", Kind: "ReplicaSet"}:                               ofReplicaSet,
	{Group: "apps", Kind: "StatefulSet"}:                              ofStatefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                ofDaemonSet,
	{Group: "batch", Kind: "Job"}:                                     ofJob,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     ofIngress,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           ofCondition("AbleToScale"),
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: ofCondition("Established"),
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             ofCondition("Available"),
	{Group: "infra.contrib.fluxcd.io", Kind: "Terraform"}:             ofStack,
}

// builtin are the groups that every cluster serves. Custom ones may end in k8s.io, too.
var builtin = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "extensions": true, "admissionregistration.k8s.io": true,
	"apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true,
}

// condition is a condition of an object.
type condition struct {
	status, reason, message string
	// generation is its observed generation; 0 if unknown.
	generation int64
}

// conditionsOf returns an object's conditions by type; there is false if it has none.
func conditionsOf(o *unstructured.Unstructured) (all map[string]condition, there bool) {
	list, _ := field(o.Object, "status", "conditions").([]any)
	all = make(map[string]condition, len(list))
	for _, item := range list {
		one, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if name := text(one, "type"); name != "" {
			all[name] = condition{status: text(one, "status"), reason: text(one, "reason"), message: text(one, "message"), generation: integer(one, "observedGeneration")}
		}
	}
	return all, len(all) > 0
}

// observed reports whether a status is about the current generation, or names none.
func observed(o *unstructured.Unstructured, generation int64, said bool) bool {
	return !said || generation >= o.GetGeneration()
}

func notObserved(o *unstructured.Unstructured) Readiness {
	return waiting(ReasonNotObserved, "its controller has not seen generation %d yet", o.GetGeneration())
}

// statusObserved reports whether the status is about the current generation; if demanded, the
// status must name it.
func statusObserved(o *unstructured.Unstructured, demanded bool) bool {
	said := field(o.Object, "status", "observedGeneration") != nil
	return observed(o, integer(o.Object, "status", "observedGeneration"), said || demanded)
}

// longest limits a message, because statuses have many of them.
const longest = 300

func short(message string) string { return shorten.Cut(strings.TrimSpace(message), longest) }

// field returns the value at a path of names; nil if there is none.
func field(object map[string]any, names ...string) any {
	var value any = object
	for _, name := range names {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

func text(object map[string]any, names ...string) string {
	out, _ := field(object, names...).(string)
	return out
}

// integer returns a number in any of the types that decoders use.
func integer(object map[string]any, names ...string) int64 {
	switch v := field(object, names...).(type) {
	case int64:
		return v
	case int32:
		return int64(v)
	case int:
		return int64(v)
	case float64:
		return int64(v)
	}
	return 0
}

// integerOr returns a number, or a default.
func integerOr(object map[string]any, otherwise int64, names ...string) int64 {
	if field(object, names...) == nil {
		return otherwise
	}
	return integer(object, names...)
}

func truth(object map[string]any, names ...string) bool { return field(object, names...) == true }

// some reports whether a list has elements.
func some(object map[string]any, names ...string) bool {
	list, _ := field(object, names...).([]any)
	return len(list) > 0
}
