// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const statusTrue = "True"

// count is a number that a workload has to reach.
type count struct {
	name       string
	have, want int64
}

// reached is whether all of them are, and which is not.
func reached(counts ...count) Readiness {
	for _, c := range counts {
		if c.have != c.want {
			return waiting(ReasonProgressing, "%d of %d Pods are %s", c.have, c.want, c.name)
		}
	}
	return isReady
}

// replicas is how many Pods there are to be. None at all serve nobody, and whoever builds on them would fail.
func replicas(o *unstructured.Unstructured) (int64, Readiness) {
	want := integerOr(o.Object, 1, "spec", "replicas")
	if want == 0 {
		return 0, waiting(ReasonScaledToZero, "spec.replicas is 0, so that nothing of it runs")
	}
	return want, isReady
}

// ofDeployment: all Pods are of the present template, and serve. Those of an older one are gone from the numbers by then.
func ofDeployment(o *unstructured.Unstructured) Readiness {
	if !statusObserved(o, true) {
		return notObserved(o)
	}
	want, r := replicas(o)
	if !r.Ready {
		return r
	}
	all, _ := conditionsOf(o)
	if c := all["Progressing"]; c.status == "False" && c.reason == "ProgressDeadlineExceeded" {
		return failed(c.reason, c.message)
	}
	status := func(name string) int64 { return integer(o.Object, "status", name) }
	r = reached(count{"of the present template", status("updatedReplicas"), want}, count{"ready", status("readyReplicas"), want}, count{"available", status("availableReplicas"), want})
	if c := all["ReplicaFailure"]; !r.Ready && c.status == statusTrue {
		return Readiness{Reason: or(c.reason, "ReplicaFailure"), Message: short(or(c.message, r.Message))}
	}
	return r
}

func ofReplicaSet(o *unstructured.Unstructured) Readiness {
	if !statusObserved(o, true) {
		return notObserved(o)
	}
	want, r := replicas(o)
	if !r.Ready {
		return r
	}
	return reached(count{"ready", integer(o.Object, "status", "readyReplicas"), want}, count{"available", integer(o.Object, "status", "availableReplicas"), want})
}

// ofStatefulSet: Pods below a partition, and all with the strategy OnDelete, are of an older template on purpose.
func ofStatefulSet(o *unstructured.Unstructured) Readiness {
	if !statusObserved(o, true) {
		return notObserved(o)
	}
	want, r := replicas(o)
	if !r.Ready {
		return r
	}
	updated := max(want-integer(o.Object, "spec", "updateStrategy", "rollingUpdate", "partition"), 0)
	have := min(integer(o.Object, "status", "updatedReplicas"), updated)
	if text(o.Object, "spec", "updateStrategy", "type") == "OnDelete" {
		have = updated
	}
	return reached(count{"of the present template", have, updated}, count{"ready", integer(o.Object, "status", "readyReplicas"), want},
		count{"available", integer(o.Object, "status", "availableReplicas"), want})
}

func ofDaemonSet(o *unstructured.Unstructured) Readiness {
	if !statusObserved(o, true) {
		return notObserved(o)
	}
	status := func(name string) int64 { return integer(o.Object, "status", name) }
	want := status("desiredNumberScheduled")
	if want == 0 {
		return waiting(ReasonScaledToZero, "no node is to run it, so that nothing of it runs")
	}
	updated := status("updatedNumberScheduled")
	if text(o.Object, "spec", "updateStrategy", "type") == "OnDelete" {
		updated = want
	}
	return reached(count{"scheduled", status("currentNumberScheduled"), want}, count{"of the present template", updated, want},
		count{"ready", status("numberReady"), want}, count{"available", status("numberAvailable"), want})
}

// ofJob: it is complete, or as many of its Pods have succeeded as it asks for and nobody has written that down yet.
func ofJob(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	if all["Complete"].status == statusTrue {
		return isReady
	}
	for _, name := range []string{"Failed", "FailureTarget"} {
		if c := all[name]; c.status == statusTrue {
			return failed(c.reason, c.message)
		}
	}
	want := max(integerOr(o.Object, 1, "spec", "completions"), 1)
	switch have := integer(o.Object, "status", "succeeded"); {
	case have >= want:
		return isReady
	case truth(o.Object, "spec", "suspend"):
		return waiting(ReasonSuspended, "spec.suspend is true")
	default:
		return waiting(ReasonProgressing, "%d of %d Pods have succeeded", have, want)
	}
}

func ofPod(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	switch phase := text(o.Object, "status", "phase"); {
	case phase == "Succeeded", phase == "Running" && all["Ready"].status == statusTrue:
		return isReady
	case phase == "Failed":
		return failed(text(o.Object, "status", "reason"), text(o.Object, "status", "message"))
	default:
		c := all["Ready"]
		return Readiness{Reason: or(c.reason, ReasonProgressing), Message: short(or(c.message, "its phase is "+or(phase, "unknown")))}
	}
}

// ofService: one that is to have an address from outside has it.
func ofService(o *unstructured.Unstructured) Readiness {
	if text(o.Object, "spec", "type") == "LoadBalancer" && !some(o.Object, "status", "loadBalancer", "ingress") {
		return waiting(ReasonProgressing, "its load balancer has no address yet")
	}
	return isReady
}

// ofIngress: many controllers never write an address, so that having something to serve is enough.
func ofIngress(o *unstructured.Unstructured) Readiness {
	if some(o.Object, "status", "loadBalancer", "ingress") || some(o.Object, "spec", "rules") || field(o.Object, "spec", "defaultBackend") != nil {
		return isReady
	}
	return waiting(ReasonProgressing, "it has neither rules nor an address")
}

func ofClaim(o *unstructured.Unstructured) Readiness {
	if text(o.Object, "status", "phase") == "Lost" {
		return failed("Lost", "its volume is gone")
	}
	return ofPhase("Bound")(o)
}

// ofPhase is the rule of kinds whose status.phase has to have a value.
func ofPhase(want string) func(o *unstructured.Unstructured) Readiness {
	return func(o *unstructured.Unstructured) Readiness {
		if phase := text(o.Object, "status", "phase"); phase != want {
			return waiting(ReasonProgressing, "its phase is %s, not %s", or(phase, "unknown"), want)
		}
		return isReady
	}
}
