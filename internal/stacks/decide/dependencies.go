// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
)

func dependencyCycle(f Facts) (Decision, bool) {
	if f.Cycle == "" {
		return Decision{}, false
	}
	fields := "spec.dependsOn has"
	if f.CycleConsumes {
		fields = "spec.consumes and spec.dependsOn have"
	}
	return Decision{Verb: VerbFail, Reason: ReasonDependencyCycle, Message: fmt.Sprintf(
		"%s a cycle: %s. Remove one of the references", fields, f.Cycle)}, true
}

func dependencyDenied(f Facts) (Decision, bool) {
	for _, d := range f.Dependencies {
		if d.Denied {
			return Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: fmt.Sprintf(
				"cannot access %s, cross-namespace references have been disabled", d.Name)}, true
		}
	}
	return Decision{}, false
}

func dependencyBeforeInputs(f Facts) (Decision, bool) {
	if f.Inputs.Ready {
		return Decision{}, false
	}
	return dependencyNotReady(f)
}

func dependencyBeforeRun(f Facts) (Decision, bool) {
	if !wantsRun(f) {
		return Decision{}, false
	}
	return dependencyNotReady(f)
}

// dependencyNotReady names the first dependency that is not ready, in tofu-controller's words; the
// detail names the others. The interval only guards against lost events.
func dependencyNotReady(f Facts) (Decision, bool) {
	var lacks []string
	first := ""
	for _, d := range f.Dependencies {
		if problem := lacking(d, f.Source.Revision); problem != "" {
			lacks, first = append(lacks, problem), orDefault(first, d.Name)
		}
	}
	if len(lacks) == 0 {
		return Decision{}, false
	}
	detail := fmt.Sprintf("Dependencies do not meet ready condition, retrying in %s", retryInterval(f.Stack))
	if len(lacks) > 1 {
		detail += ": " + strings.Join(lacks, "; ")
	}
	return Decision{Verb: VerbWait, Subject: first, Reason: ReasonDependencyNotReady, Message: lacks[0], Detail: detail, NextCheck: lookAgain(f)}, true
}

// wantsRun reports whether there is something to do.
func wantsRun(f Facts) bool {
	if _, apply := pendingApproved(f); apply {
		return true
	}
	_, plan := reasonToPlan(f)
	return plan
}

// lacking says why a dependency is not ready; empty if it is.
func lacking(d Dependency, revision string) string {
	switch {
	case d.Missing:
		return fmt.Sprintf("unable to get '%s' dependency: Terraform.infra.contrib.fluxcd.io %q not found", d.Name, d.Name[strings.Index(d.Name, "/")+1:])
	case d.Deleting:
		return fmt.Sprintf("dependency '%s' is being deleted", d.Name)
	case !d.Observed, !d.Ready:
		return fmt.Sprintf("dependency '%s' is not ready", d.Name)
	case d.SameSource && !slices.Contains(d.Revisions, revision):
		return fmt.Sprintf("dependency '%s' is not updated yet", d.Name)
	case d.OutputsMissing != "":
		return fmt.Sprintf("dependency output secret: '%s' of '%s' is not ready yet", d.OutputsMissing, d.Name)
	}
	return ""
}
