// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const (
	vpcHCL = `
variable "cidr" { default = "10.0.0.0/16" }
resource "terraform_data" "vpc" { input = var.cidr }
output "cidr" { value = terraform_data.vpc.output }
`
	appHCL = `
variable "cidr" { type = string }
resource "terraform_data" "app" { input = "in ${var.cidr}" }
output "where" { value = terraform_data.app.output }
`
	nothingHCL = `output "it" { value = "is there" }`
)

// dependsOn adds dependencies, as NAME or NAMESPACE/NAME.
func dependsOn(names ...string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.DependsOn = nil
		for _, name := range names {
			o.Spec.DependsOn = append(o.Spec.DependsOn, reference(name))
		}
	}
}

func reference(name string) meta.NamespacedObjectReference {
	for i, c := range name {
		if c == '/' {
			return meta.NamespacedObjectReference{Namespace: name[:i], Name: name[i+1:]}
		}
	}
	return meta.NamespacedObjectReference{Name: name}
}

// retryingHourly sets a long interval: anything that happens sooner was caused by a watch.
func retryingHourly(o *infrav1.Terraform) {
	o.Spec.RetryInterval = &metav1.Duration{Duration: time.Hour}
}

// outputIs reports whether a stack's outputs Secret has the value.
func (y *yuba) outputIs(t *testing.T, namespace, secret, key, want string) {
	t.Helper()
	if got := string(y.secret(t, namespace, secret)[key]); got != want {
		t.Errorf("%s of %s is %q, want %q", key, secret, got, want)
	}
}

func TestDependantsWaitThenFollow(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	app := inline(ns, "app", appHCL, auto, retryingHourly, dependsOn("vpc"), varsFrom("Secret", "vpc-out"), outputsTo("app-out"))
	// It reads no outputs of the other stack, but depends on it.
	web := inline(ns, "web", nothingHCL, auto, retryingHourly, dependsOn("vpc", "app"))
	y.create(t, app, web)
	waits := y.await(t, app, "it waits for what is not there", failedWith(infrav1.ReasonDependencyNotReady))
	if got, want := condition(waits, infrav1.ConditionReady).Message, fmt.Sprintf(`unable to get '%s/vpc' dependency: Terraform.infra.contrib.fluxcd.io "vpc" not found`, ns); got != want {
		t.Errorf("Ready says %q", got)
	}
	if got := condition(waits, infrav1.ConditionReconciling).Message; got != "Dependencies do not meet ready condition, retrying in 1h0m0s" {
		t.Errorf("Reconciling says %q", got)
	}
	if got := waits.Status.Summary; got != "Waiting for vpc" && got != "Waiting for "+ns+"/vpc" {
		t.Errorf("in short: %q", got)
	}

	vpc := inline(ns, "vpc", vpcHCL, auto, outputsTo("vpc-out"))
	y.create(t, vpc)
	y.await(t, app, "it is ready once its dependency is", ready)
	before := y.await(t, web, "so is what depends on both", ready)
	y.outputIs(t, ns, "app-out", "where", "in 10.0.0.0/16")
	y.await(t, vpc, "it carries a finalizer for each dependant", func(o *infrav1.Terraform) bool {
		return slices.Contains(o.Finalizers, "tf.dependency.of.app") && slices.Contains(o.Finalizers, "tf.dependency.of.web")
	})

	change(t, y, vpc, func(o *infrav1.Terraform) { variable("cidr", "10.9.0.0/16")(o) })
	y.await(t, app, "it follows the changed output", func(o *infrav1.Terraform) bool {
		return ready(o) && string(y.secret(t, ns, "app-out")["where"]) == "in 10.9.0.0/16"
	})
	y.await(t, web, "it was reconciled again", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastRun.ID > before.Status.LastRun.ID
	})

	change(t, y, app, dependsOn())
	y.await(t, vpc, "the finalizer of the former dependant is removed", func(o *infrav1.Terraform) bool {
		return !slices.Contains(o.Finalizers, "tf.dependency.of.app") && slices.Contains(o.Finalizers, "tf.dependency.of.web")
	})
}

// A busy dependency does not affect stacks without pending changes; a failed one blocks the others.
func TestDependantsOfAFailureStandByUntilItIsMended(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	vpc := inline(ns, "vpc", vpcHCL, auto)
	app := inline(ns, "app", appHCL, auto, retryingHourly, dependsOn("vpc"), variable("cidr", "first"), outputsTo("app-out"))
	y.create(t, vpc, app)
	y.await(t, app, "it is ready", ready)
	change(t, y, vpc, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"] = vpcHCL + "\nresource \"terraform_data\" \"broken\" {\n lifecycle {\n  precondition {\n   condition = var.cidr == \"mended\"\n   error_message = \"not yet\"\n  }\n }\n}\n"
	})
	y.await(t, vpc, "it fails", failedWith(infrav1.ReasonPlanFailed))
	undisturbed := y.await(t, app, "it is as it was", func(*infrav1.Terraform) bool { return true })
	if !ready(undisturbed) {
		t.Errorf("the dependant is disturbed: %+v", condition(undisturbed, infrav1.ConditionReady))
	}
	change(t, y, app, func(o *infrav1.Terraform) { o.Spec.Vars = nil; variable("cidr", "second")(o) })
	waits := y.await(t, app, "it waits", failedWith(infrav1.ReasonDependencyNotReady))
	if got, want := condition(waits, infrav1.ConditionReady).Message, fmt.Sprintf("dependency '%s/vpc' is not ready", ns); got != want {
		t.Errorf("Ready says %q", got)
	}
	change(t, y, vpc, func(o *infrav1.Terraform) { variable("cidr", "mended")(o) })
	y.await(t, app, "it continues", ready)
	y.outputIs(t, ns, "app-out", "where", "in second")
}

func TestDependantsOfOneSourceAreTakenInTurn(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	files := func(n string) map[string]string {
		return map[string]string{"a/main.tf": "output \"n\" { value = " + n + " }", "b/main.tf": "output \"n\" { value = " + n + " }"}
	}
	at := func(path string) func(*infrav1.Terraform) {
		return func(o *infrav1.Terraform) { o.Spec.Path = path }
	}
	artifact := y.push(t, ns, "live", files("1"))
	first := pushed(ns, "first", "live", auto, at("a"))
	second := pushed(ns, "second", "live", auto, at("b"), dependsOn("first"), retryingHourly)
	y.create(t, second, first)
	one := y.await(t, second, "it is ready", ready)
	y.push(t, ns, "live", files("2"))
	two := y.await(t, second, "it follows the source", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRevision != one.Status.LastAppliedRevision
	})
	ahead := y.await(t, first, "so does the other", ready)
	if ahead.Status.LastAppliedRevision != two.Status.LastAppliedRevision || ahead.Status.LastRun.ID > two.Status.LastRun.ID {
		t.Errorf("the dependant ran %s (%s), its dependency %s (%s)", two.Status.LastRun.ID, two.Status.LastAppliedRevision,
			ahead.Status.LastRun.ID, ahead.Status.LastAppliedRevision)
	}
	// A revision with the same content needs no run, and blocks nobody.
	y.setRevision(t, artifact, "main@sha1:0123456789abcdef0123456789abcdef01234567")
	y.await(t, first, "the revision counts as planned", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastPlannedRevision == "main@sha1:0123456789abcdef0123456789abcdef01234567" &&
			o.Status.LastRun.ID == ahead.Status.LastRun.ID
	})
	change(t, y, second, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"}
	})
	y.await(t, second, "a request is served", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastHandledReconcileAt == "now" && o.Status.LastRun.ID > two.Status.LastRun.ID
	})
}

func TestCirclesOfDependenciesAreNamed(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	a, b, c := inline(ns, "a", nothingHCL, auto, dependsOn("b")), inline(ns, "b", nothingHCL, auto), inline(ns, "c", nothingHCL, auto, dependsOn("a"))
	alone := inline(ns, "narcissus", nothingHCL, auto, dependsOn("narcissus"))
	y.create(t, a, b, c, alone)
	y.await(t, c, "without a circle all are ready", ready)
	circular := func(want string) func(*infrav1.Terraform) bool {
		return func(o *infrav1.Terraform) bool {
			stalled := condition(o, infrav1.ConditionStalled)
			return failedWith(infrav1.ReasonDependencyCycle)(o) && stalled.Reason == infrav1.ReasonDependencyCycle && containsAll(stalled.Message, want)
		}
	}
	y.await(t, alone, "it depends on itself", circular("narcissus -> narcissus."))
	change(t, y, b, dependsOn("c"))
	for _, o := range []*infrav1.Terraform{a, b, c} {
		y.await(t, o, "each names the circle", circular("a -> b -> c -> a."))
	}
	change(t, y, b, dependsOn())
	for _, o := range []*infrav1.Terraform{a, b, c} {
		y.await(t, o, "each is ready without it", ready)
	}
}

func TestDependenciesInOtherNamespacesAreDenied(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	theirs := y.namespace(t)
	vpc := inline(theirs, "vpc", nothingHCL, auto)
	app := inline(ns, "app", nothingHCL, auto, dependsOn(theirs+"/vpc"))
	y.create(t, vpc, app)
	denied := y.await(t, app, "it is denied", failedWith(infrav1.ReasonAccessDenied))
	want := "cannot access " + theirs + "/vpc, cross-namespace references have been disabled"
	if got := condition(denied, infrav1.ConditionReady).Message; got != want {
		t.Errorf("Ready says %q, want %q", got, want)
	}
	// A denied dependant does not block the deletion of its dependency.
	seen := y.await(t, vpc, "it is ready", ready)
	if diff := cmp.Diff([]string{infrav1.Finalizer}, seen.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	y.delete(t, vpc)
	y.awaitGone(t, vpc)
}

func TestDependenciesAcrossNamespacesWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	y := alone(t, "--allow-cross-namespace")
	blue, green := y.namespace(t), y.namespace(t)
	vpc := inline(blue, "vpc", nothingHCL, auto)
	ours, others := inline(blue, "app", nothingHCL, auto, dependsOn("vpc")), inline(green, "app", nothingHCL, auto, dependsOn(blue+"/vpc"))
	y.create(t, vpc, ours, others)
	y.await(t, others, "it is ready", ready)
	y.await(t, vpc, "two of one name do not collide", func(o *infrav1.Terraform) bool {
		return slices.Contains(o.Finalizers, "tf.dependency.of.app") && slices.Contains(o.Finalizers, "tf.dependency.of."+green+"/app")
	})
	change(t, y, vpc, dependsOn(green+"/app"))
	first, second := blue+"/vpc", green+"/app"
	if second < first {
		first, second = second, first
	}
	for _, o := range []*infrav1.Terraform{vpc, others} {
		y.await(t, o, "each names the circle", func(o *infrav1.Terraform) bool {
			return failedWith(infrav1.ReasonDependencyCycle)(o) &&
				containsAll(condition(o, infrav1.ConditionReady).Message, first+" -> "+second+" -> "+first)
		})
	}
	change(t, y, vpc, dependsOn())
	y.await(t, vpc, "it is ready", ready)
	y.delete(t, vpc)
	blocked := y.await(t, vpc, "both block the deletion", failedWith(infrav1.ReasonDeletionBlockedByDependants))
	want := "Deletion in progress, but blocked. Please delete app, " + green + "/app to resume ..."
	if got := condition(blocked, infrav1.ConditionReady).Message; got != want {
		t.Errorf("Ready says %q, want %q", got, want)
	}
	y.delete(t, ours)
	y.delete(t, others)
	y.awaitGone(t, vpc)
}
