// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Readiness is how an object stands.
type Readiness struct {
	Ready, Failed bool
	// Reason is one word, Message a sentence without its full stop. They are empty when the object is ready.
	Reason, Message string
}

// The reasons of objects that are not ready, beside those that their own conditions give.
const (
	// ReasonTerminating: it is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonNotObserved: its controller has not looked at its present generation.
	ReasonNotObserved = "NotObserved"
	// ReasonNoConditions: nobody has said anything of it yet.
	ReasonNoConditions = "NoConditions"
	// ReasonProgressing: it is on its way.
	ReasonProgressing = "Progressing"
	// ReasonFailed: it has failed.
	ReasonFailed = "Failed"
	// ReasonScaledToZero: nothing of it is to run, so that it serves nobody.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended: somebody has stopped work on it.
	ReasonSuspended = "Suspended"
	// ReasonPlanPending: a plan of a stack waits for approval.
	ReasonPlanPending = "PlanPending"
	// ReasonNeverApplies: a stack makes plans only.
	ReasonNeverApplies = "NeverApplies"
	// ReasonNotApplied: a stack was not applied yet.
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

// Plain tells whether objects of a kind are ready as soon as they exist.
func Plain(kind schema.GroupKind) bool { return plain[kind] }

var isReady = Readiness{Ready: true}

func waiting(reason, format string, args ...any) Readiness {
	return Readiness{Reason: reason, Message: short(fmt.Sprintf(format, args...))}
}

func failed(reason, message string) Readiness {
	return Readiness{Failed: true, Reason: or(reason, ReasonFailed), Message: short(or(message, "it has failed"))}
}

// Of tells how an object stands. A custom kind that says nothing of itself is not ready.
func Of(o *unstructured.Unstructured) Readiness { return OfKind(o, false) }

// OfKind tells how an object stands whose kind is known to have a status or, statusless, to have none.
func OfKind(o *unstructured.Unstructured, statusless bool) Readiness {
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

// rules are for kinds that say in a way of their own how they stand. All other kinds of Kubernetes are ready when they are
// there, unless they have a condition Ready.
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

// builtin are the groups that every cluster serves itself. Others end in k8s.io, too.
var builtin = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "extensions": true, "admissionregistration.k8s.io": true,
	"apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true,
}

// condition is what an object says of one aspect of itself.
type condition struct {
	status, reason, message string
	// generation is what it is about, 0 when it does not say.
	generation int64
}

// conditionsOf are an object's conditions by their types; there is false when it has none.
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

// observed tells whether what is said about a generation is about the object as it is. Who does not say is believed.
func observed(o *unstructured.Unstructured, generation int64, said bool) bool {
	return !said || generation >= o.GetGeneration()
}

func notObserved(o *unstructured.Unstructured) Readiness {
	return waiting(ReasonNotObserved, "its controller has not looked at generation %d yet", o.GetGeneration())
}

// statusObserved tells whether the status is about the object as it is; demanded says that a status that does not say so is not.
func statusObserved(o *unstructured.Unstructured, demanded bool) bool {
	said := field(o.Object, "status", "observedGeneration") != nil
	return observed(o, integer(o.Object, "status", "observedGeneration"), said || demanded)
}

// shortest is how much of a message is kept; statuses have many of them.
const shortest = 300

func short(message string) string {
	message = strings.TrimSpace(message)
	if runes := []rune(message); len(runes) > shortest {
		return string(runes[:shortest-1]) + "…"
	}
	return message
}

func or(one, other string) string {
	if one != "" {
		return one
	}
	return other
}

// field is what stands in objects in objects, and nil where there is no such thing.
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

// integer is a number as JSON and as Go's own types have it.
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

// integerOr is a number with a default.
func integerOr(object map[string]any, otherwise int64, names ...string) int64 {
	if field(object, names...) == nil {
		return otherwise
	}
	return integer(object, names...)
}

func truth(object map[string]any, names ...string) bool { return field(object, names...) == true }

// some tells whether there is a list with something in it.
func some(object map[string]any, names ...string) bool {
	list, _ := field(object, names...).([]any)
	return len(list) > 0
}
