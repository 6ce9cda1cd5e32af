// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ofCondition is the rule of kinds that are ready when a condition of theirs is true.
func ofCondition(name string) func(o *unstructured.Unstructured) Readiness {
	return func(o *unstructured.Unstructured) Readiness {
		all, _ := conditionsOf(o)
		if c, there := all[name]; !there || c.status != statusTrue {
			return ofFalse(name, c, there)
		}
		return isReady
	}
}

// ofFalse says what a condition says that is not true.
func ofFalse(name string, c condition, there bool) Readiness {
	if !there {
		return waiting(ReasonNoConditions, "it has no condition %s yet", name)
	}
	return Readiness{Reason: or(c.reason, ReasonProgressing), Message: short(or(c.message, "its condition "+name+" is "+or(c.status, "Unknown")))}
}

// ofBuiltin: kinds of Kubernetes that have conditions at all have them by the time that they are there for somebody, and most
// have none. Those whose conditions matter have rules.
func ofBuiltin(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	if c, there := all["Ready"]; there && c.status != statusTrue {
		return ofFalse("Ready", c, there)
	}
	return isReady
}

// ofCustom: the condition Ready is true, and about the object as it is.
func ofCustom(o *unstructured.Unstructured, statusless bool) Readiness {
	all, there := conditionsOf(o)
	switch {
	case !there && statusless:
		return isReady
	case !statusObserved(o, false):
		return notObserved(o)
	case !there:
		return waiting(ReasonNoConditions, "it has no conditions yet")
	}
	c, there := all["Ready"]
	switch stalled := all["Stalled"]; {
	case !observed(o, c.generation, c.generation != 0):
		return notObserved(o)
	case there && c.status == statusTrue:
		return isReady
	case stalled.status == statusTrue && observed(o, stalled.generation, stalled.generation != 0):
		return ofStalled(stalled, c)
	}
	return ofFalse("Ready", c, there)
}

// ofStalled: that there is no use in trying again says Stalled, what went wrong says Ready, as a rule.
func ofStalled(stalled, c condition) Readiness {
	message := stalled.message
	if c.status == "False" && c.message != "" {
		message = c.message
	}
	return failed(or(stalled.reason, c.reason), or(message, c.message))
}
