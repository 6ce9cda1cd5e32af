// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ofCondition is the rule of kinds that are ready when that condition is true.
func ofCondition(name string) func(o *unstructured.Unstructured) Readiness {
	return func(o *unstructured.Unstructured) Readiness {
		all, _ := conditionsOf(o)
		if c, there := all[name]; !there || c.status != statusTrue {
			return ofFalse(name, c, there)
		}
		return isReady
	}
}

// ofFalse describes a condition that is not true.
func ofFalse(name string, c condition, there bool) Readiness {
	if !there {
		return waiting(ReasonNoConditions, "it has no condition %s yet", name)
	}
	return Readiness{Reason: cmp.Or(c.reason, ReasonProgressing), Message: short(cmp.Or(c.message, "its condition "+name+" is "+cmp.Or(c.status, "Unknown")))}
}

// ofBuiltin: most builtin kinds have no conditions. Those whose conditions matter have rules.
func ofBuiltin(o *unstructured.Unstructured) Readiness {
	all, _ := conditionsOf(o)
	if c, there := all["Ready"]; there && c.status != statusTrue {
		return ofFalse("Ready", c, there)
	}
	return isReady
}

// ofCustom: the condition Ready is true for the current generation.
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

// ofStalled: usually Ready describes the failure, and Stalled only that it is permanent.
func ofStalled(stalled, c condition) Readiness {
	message := stalled.message
	if c.status == "False" && c.message != "" {
		message = c.message
	}
	return failed(cmp.Or(stalled.reason, c.reason), cmp.Or(message, c.message))
}
