// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const statusTrue = "True"

// count is a number that a workload must reach.
type count struct {
	name       string
	have, want int64
}

// reached returns the first count that is not reached.
func reached(counts ...count) Readiness {
	for _, c := range counts {
		if c.have != c.want {
			return waiting(ReasonProgressing, "%d of %d Pods are %s", c.have, c.want, c.name)
		}
	}
	return isReady
}

// replicas returns the desired number of Pods. A status about another generation, or a workload
// without Pods, is not ready whatever they are.
func replicas(o *unstructured.Unstructured) (int64, Readiness) {
	if !statusObserved(o, true) {
		return 0, notObserved(o)
	}
	want := integerOr(o.Object, 1, "spec", "replicas")
	if want == 0 {
		return 0, waiting(ReasonScaledToZero, "spec.replicas is 0, so it has no Pods")
	}
	return want, isReady
}

// ofDeployment: all Pods have the current template and are available.
func ofDeployment(o *unstructured.Unstructured) Readiness {
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
		return Readiness{Reason: cmp.Or(c.reason, "ReplicaFailure"), Message: short(cmp.Or(c.message, r.Message))}
	}
	return r
}

func ofReplicaSet(o *unstructured.Unstructured) Readiness {
	want, r := replicas(o)
	if !r.Ready {
		return r
	}
	return reached(count{"ready", integer(o.Object, "status", "readyReplicas"), want}, count{"available", integer(o.Object, "status", "availableReplicas"), want})
}

// ofStatefulSet: Pods below a partition, or with the strategy OnDelete, keep an older template.
func ofStatefulSet(o *unstructured.Unstructured) Readiness {
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
		return waiting(ReasonScaledToZero, "no node matches, so it has no Pods")
	}
	updated := status("updatedNumberScheduled")
	if text(o.Object, "spec", "updateStrategy", "type") == "OnDelete" {
		updated = want
	}
	return reached(count{"scheduled", status("currentNumberScheduled"), want}, count{"of the present template", updated, want},
		count{"ready", status("numberReady"), want}, count{"available", status("numberAvailable"), want})
}

// ofJob: it is complete, or enough Pods have succeeded and the condition is not written yet.
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
		return Readiness{Reason: cmp.Or(c.reason, ReasonProgressing), Message: short(cmp.Or(c.message, "its phase is "+cmp.Or(phase, "unknown")))}
	}
}

// ofService: a load balancer needs an address.
func ofService(o *unstructured.Unstructured) Readiness {
	if text(o.Object, "spec", "type") == "LoadBalancer" && !some(o.Object, "status", "loadBalancer", "ingress") {
		return waiting(ReasonProgressing, "its load balancer has no address yet")
	}
	return isReady
}

// ofIngress: many controllers never write an address, so rules are enough.
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

// ofPhase is the rule of kinds that are ready in one status.phase.
func ofPhase(want string) func(o *unstructured.Unstructured) Readiness {
	return func(o *unstructured.Unstructured) Readiness {
		if phase := text(o.Object, "status", "phase"); phase != want {
			return waiting(ReasonProgressing, "its phase is %s, not %s", cmp.Or(phase, "unknown"), want)
		}
		return isReady
	}
}
