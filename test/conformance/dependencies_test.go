// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// reader has an output made of its inputs.
var reader = program{"main.tf": `
variable "values" { type = object({ greeting = string }) }
output "heard" { value = "I heard: ${var.values.greeting}" }
`}

// chain creates two stacks: upstream, which is applied automatically unless the manifest says
// otherwise, and downstream, which depends on it and reads its outputs. Each has its own source.
func (w *world) chain(upstream string) {
	w.Helper()
	w.git(first, greeter)
	w.publish(infrav1.SourceKindGitRepository, "reader", first, reader)
	w.stack("upstream", "%s", upstream)
	w.stack("downstream", `
approvePlan: auto
sourceRef: {kind: GitRepository, name: reader}
dependsOn: [{name: upstream}]
readInputsFromSecrets: [{name: upstream-out, as: upstream}]
values: {greeting: '${{ .upstream.greeting }}'}
writeOutputsToSecret: {name: downstream-out}`)
}

// notReady is the message of Ready while a dependency is not ready.
func (w *world) notReady(dependency string) string {
	return "False DependencyNotReady: dependency '" + w.namespace + "/" + dependency + "' is not ready"
}

var dependencies = []behaviour{
	// Upstream: a stack waits for its dependency, then reads its outputs. Fixed: it continues at
	// once, not with its next retry.
	{"000350_depends_on", func(w *world) {
		w.chain("writeOutputsToSecret: {name: upstream-out}")
		w.await("upstream", "its plan waits", pending(firstPlan))
		w.await("downstream", "it waits for its dependency", tells("Ready", w.notReady("upstream")))
		w.awaitEvent("downstream", "DependencyNotReady: Dependencies do not meet ready condition, retrying in 1s")
		w.edit("upstream", "approvePlan: %s", firstPlan)
		s := w.await("downstream", "it is applied", applied(firstPlan))
		same(w, "Ready", "True TerraformOutputsWritten: Outputs written: "+first, told(s, "Ready"))
		w.awaitSecret("downstream-out", map[string]string{"heard": "I heard: Hello, World!"})
	}},
	// Upstream: a dependency in another namespace is refused.
	{"000015_depends_on_cross_ns_denied", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, dependsOn: [{name: gr-source, namespace: other-ns}]}")
		s := w.await("hello", "it may not use its dependency", failed("AccessDenied"))
		same(w, "Ready", "False AccessDenied: cannot access other-ns/gr-source, cross-namespace references have been disabled", told(s, "Ready"))
	}},
	// Upstream: stacks of one source run in order: the second waits until the first has planned the
	// same revision.
	{"000350_depends_on_same_source", func(w *world) {
		v := w.thing("thing", "before")
		w.git(first, follower)
		w.stack("one", "{approvePlan: auto, vars: [{name: thing, value: '%s'}]}", v.url)
		w.stack("two", "{approvePlan: auto, dependsOn: [{name: one}], vars: [{name: thing, value: '%s'}]}", v.url)
		w.await("two", "it is applied", applied(firstPlan))
		w.git(second, follower.and(more))
		two := w.await("two", "the new revision is applied", applied(secondPlan))
		one := w.get("one")
		same(w, "revision of the dependency", second, one.Status.LastAppliedRevision)
		if one.Status.LastPlanAt.After(two.Status.LastPlanAt.Time) {
			w.Error("the dependant was planned before its dependency")
		}
	}},
	// Upstream: a stack has the finalizers of its dependants, and its deletion waits for theirs.
	{"deletion_waits_for_dependants", func(w *world) {
		w.chain("{approvePlan: auto, writeOutputsToSecret: {name: upstream-out}}")
		w.await("downstream", "it is applied", applied(firstPlan))
		s := w.await("upstream", "it carries the finalizer of its dependant", func(o *infrav1.Terraform) bool {
			return slices.Contains(o.Finalizers, "tf.dependency.of.downstream")
		})
		if !slices.Contains(s.Finalizers, "finalizers.tf.contrib.fluxcd.io") {
			w.Errorf("its finalizers are %v", s.Finalizers)
		}
		w.deleteStack("upstream")
		w.await("upstream", "its deletion is blocked", func(o *infrav1.Terraform) bool {
			return told(o, "Ready") == "False DeletionBlockedByDependantsReason: Deletion in progress, but blocked. Please delete downstream to resume ..."
		})
		w.deleteStack("downstream")
		w.awaitGone("downstream")
		w.awaitGone("upstream")
	}},
	// Upstream: a stack whose dependency is gone can never be deleted. Fixed.
	{"deletion_without_dependency", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, dependsOn: [{name: missing}]}")
		w.await("hello", "it waits for its dependency", tells("Ready",
			"False DependencyNotReady: unable to get '"+w.namespace+"/missing' dependency: Terraform.infra.contrib.fluxcd.io \"missing\" not found"))
		w.deleteStack("hello")
		w.awaitGone("hello")
	}},
	// Upstream: stacks that depend on each other wait forever. Fixed: Yuba names the cycle.
	{"circle_of_dependencies", func(w *world) {
		w.git(first, hello)
		w.stack("one", "{approvePlan: auto, dependsOn: [{name: two}]}")
		w.stack("two", "{approvePlan: auto, dependsOn: [{name: one}]}")
		for _, name := range []string{"one", "two"} {
			w.await(name, "it names the circle", func(o *infrav1.Terraform) bool {
				return strings.Contains(told(o, "Ready"), "one -> two -> one")
			})
		}
	}},
}

var remediations = []behaviour{
	// Upstream: after that many failures the stack is Stalled until the object or its source
	// changes; then counting restarts.
	{"000243_remediation_retry", func(w *world) {
		w.git(first, fragile)
		w.stack("hello", "{approvePlan: auto, remediation: {retries: 3}, vars: [{name: command, value: 'exit 1'}]}")
		const stalled = "True RetryLimitReached: Resource reached maximum number of retries."
		s := w.await("hello", "it has given up", tells("Stalled", stalled))
		same(w, "failures", 3, s.Status.ReconciliationFailures)
		same(w, "attempted revision", first, s.Status.LastAttemptedRevision)
		// Counting restarts, with a limit below the previous count.
		w.edit("hello", "remediation: {retries: 2}")
		w.await("hello", "it has given up again", func(o *infrav1.Terraform) bool {
			return tells("Stalled", stalled)(o) && o.Status.ReconciliationFailures == 2
		})
		w.git(second, fragile)
		w.await("hello", "it tries the new revision, and gives up again", func(o *infrav1.Terraform) bool {
			return tells("Stalled", stalled)(o) && o.Status.LastAttemptedRevision == second && o.Status.ReconciliationFailures == 2
		})
		w.edit("hello", "vars: [{name: command, value: 'true'}]")
		s = w.await("hello", "it is fixed", ready)
		same(w, "Stalled", "", told(s, "Stalled"))
		same(w, "failures", 0, s.Status.ReconciliationFailures)
	}},
	// Upstream: a bad archive, with which no run begins. Missing inputs behave the same.
	{"000243_remediation_retry_of_a_bad_archive", func(w *world) {
		bad := func(revision string) {
			url, digest := w.outside.archive([]byte("this is no archive " + revision))
			w.publishArtifact(infrav1.SourceKindGitRepository, "program", &meta.Artifact{URL: url, Digest: digest, Revision: revision})
		}
		bad(first)
		w.stack("hello", "{approvePlan: auto, remediation: {retries: 3}}")
		givenUp := func(failures int64, revision string) func(*infrav1.Terraform) bool {
			return func(o *infrav1.Terraform) bool {
				return tells("Stalled", "True RetryLimitReached: Resource reached maximum number of retries.")(o) &&
					o.Status.ReconciliationFailures == failures && o.Status.LastAttemptedRevision == revision
			}
		}
		s := w.await("hello", "it has given up", givenUp(3, first))
		mentions(w, "Ready", told(s, "Ready"), "False ArtifactFailed: ")
		w.edit("hello", "remediation: {retries: 2}")
		w.await("hello", "it has given up again", givenUp(2, first))
		bad(second)
		w.await("hello", "it tries the new revision, and gives up again", givenUp(2, second))
		w.git(third, hello)
		s = w.await("hello", "it is applied", applied(thirdPlan))
		same(w, "Stalled", "", told(s, "Stalled"))
		same(w, "failures", 0, s.Status.ReconciliationFailures)
	}},
	{"000243_remediation_retry_of_missing_inputs", func(w *world) {
		w.git(first, hello)
		w.stack("hello", "{approvePlan: auto, remediation: {retries: 2}, varsFrom: [{kind: Secret, name: names}]}")
		s := w.await("hello", "it has given up", tells("Stalled", "True RetryLimitReached: Resource reached maximum number of retries."))
		same(w, "failures", 2, s.Status.ReconciliationFailures)
		same(w, "attempted revision", first, s.Status.LastAttemptedRevision)
		mentions(w, "Ready", told(s, "Ready"), "False VarsGenerationFailed: ", "names")
		// Fixed: Yuba watches the Secret, so no change of the object is needed.
		w.create(secretOf("names", map[string]string{"subject": "Mars"}))
		w.await("hello", "it is applied", applied(firstPlan))
	}},
	// Upstream: errors that no retry can fix, such as HCL that does not parse, use up attempts like
	// any others.
	{"000243_remediation_retry_of_a_bad_program", func(w *world) {
		w.git(first, program{"main.tf": `output "x" { value = nothing.here }`})
		w.stack("hello", "{approvePlan: auto, remediation: {retries: 2}}")
		s := w.await("hello", "it has given up", tells("Stalled", "True RetryLimitReached: Resource reached maximum number of retries."))
		same(w, "failures", 2, s.Status.ReconciliationFailures)
	}},
	// Upstream: with retries of 0, a stack is never reconciled. Fixed: Yuba makes one attempt.
	{"000243_no_retries", func(w *world) {
		w.git(first, fragile)
		w.stack("good", "{approvePlan: auto, remediation: {retries: 0}, vars: [{name: command, value: 'true'}]}")
		w.await("good", "it is applied", applied(firstPlan))
		w.stack("bad", "{approvePlan: auto, remediation: {retries: 0}, vars: [{name: command, value: 'exit 1'}]}")
		s := w.await("bad", "it has given up", tells("Stalled", "True RetryLimitReached: Resource reached maximum number of retries."))
		same(w, "failures", 1, s.Status.ReconciliationFailures)
	}},
	// Upstream: with exponential backoff the wait doubles with each failure, up to a limit.
	{"retry_strategy", func(w *world) {
		w.git(first, fragile)
		w.stack("hello", `
approvePlan: auto
retryStrategy: ExponentialBackoff
retryInterval: 1s
maxRetryInterval: 2s
vars: [{name: command, value: 'exit 1'}]`)
		w.await("hello", "it has failed four times", func(o *infrav1.Terraform) bool { return o.Status.ReconciliationFailures >= 4 })
		w.edit("hello", "vars: [{name: command, value: 'true'}]")
		w.await("hello", "it is fixed", ready)
	}},
	// Upstream: that limit applies from the first failure on, even if it is below the interval.
	{"retry_strategy_with_a_limit_below_the_interval", func(w *world) {
		w.git(first, fragile)
		w.stack("hello", `
approvePlan: auto
retryStrategy: ExponentialBackoff
retryInterval: 1h
maxRetryInterval: 1s
vars: [{name: command, value: 'exit 1'}]`)
		w.await("hello", "it has failed three times", func(o *infrav1.Terraform) bool { return o.Status.ReconciliationFailures >= 3 })
	}},
}
