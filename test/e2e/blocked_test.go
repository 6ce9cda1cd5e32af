// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

type sourceArtifact = sourcev1.ExternalArtifact

// setRevision gives an artifact another revision with the same content, like a commit elsewhere in
// the repository.
func (y *yuba) setRevision(t *testing.T, artifact *sourceArtifact, revision string) {
	t.Helper()
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(artifact), artifact); err != nil {
		t.Fatal(err)
	}
	before := artifact.DeepCopy()
	artifact.Status.Artifact.Revision = revision
	if err := y.client.Status().Patch(t.Context(), artifact, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatOthersDependOnGoesAfterThem(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	vpc := inline(ns, "vpc", vpcHCL, auto, destroying, outputsTo("vpc-out"))
	app := inline(ns, "app", appHCL, auto, destroying, dependsOn("vpc"), varsFrom("Secret", "vpc-out"))
	y.create(t, vpc, app)
	y.await(t, app, "it is ready", ready)
	y.delete(t, vpc)
	blocked := y.await(t, vpc, "it is blocked", failedWith(infrav1.ReasonDeletionBlockedByDependants))
	if got := condition(blocked, infrav1.ConditionReady).Message; got != "Deletion in progress, but blocked. Please delete app to resume ..." {
		t.Errorf("Ready says %q", got)
	}
	if n := y.resources(t, vpc); n != 1 {
		t.Errorf("%d resources are left of the one that is blocked", n)
	}
	y.delete(t, app)
	y.awaitGone(t, app)
	y.awaitGone(t, vpc)
	for _, o := range []*infrav1.Terraform{app, vpc} {
		if n := y.resources(t, o); n != 0 {
			t.Errorf("%d resources are left of %s", n, o.Name)
		}
	}
}

// A finalizer of a dependant blocks nothing by itself: tofu-controller's finalizers stay when the
// dependant is gone. A missing dependency blocks nothing either.
func TestNeitherAStaleFinalizerNorAMissingDependencyKeepsAStack(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	left := inline(ns, "left", vpcHCL, auto, destroying, func(o *infrav1.Terraform) {
		o.Finalizers = []string{"finalizers.tf.contrib.fluxcd.io", "tf.dependency.of.gone"}
	})
	lonely := inline(ns, "lonely", vpcHCL, auto, destroying)
	y.create(t, left, lonely)
	y.await(t, left, "it is ready", ready)
	y.await(t, lonely, "it is ready", ready)
	change(t, y, lonely, dependsOn("gone"))
	change(t, y, left, func(o *infrav1.Terraform) { o.Finalizers = append(o.Finalizers, "tf.dependency.of.gone-too") })
	for _, o := range []*infrav1.Terraform{left, lonely} {
		y.delete(t, o)
		y.awaitGone(t, o)
		if n := y.resources(t, o); n != 0 {
			t.Errorf("%d resources are left of %s", n, o.Name)
		}
	}
}

// A namespace can be deleted with its stacks, dependants first, even if they depend on each other
// in a cycle.
func TestNamespacesGoWithDependenciesInThem(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	vpc := inline(ns, "vpc", vpcHCL, auto, destroying, outputsTo("vpc-out"))
	app := inline(ns, "app", appHCL, auto, destroying, dependsOn("vpc"), varsFrom("Secret", "vpc-out"))
	y.create(t, vpc, app)
	y.await(t, app, "it is ready", ready)
	a, b := inline(ns, "a", vpcHCL, auto, destroying), inline(ns, "b", vpcHCL, auto, destroying, dependsOn("a"))
	y.create(t, a, b)
	y.await(t, b, "it is ready", ready)
	change(t, y, a, dependsOn("b"))
	y.await(t, b, "there is a circle", failedWith(infrav1.ReasonDependencyCycle))
	y.delete(t, namespaceObject(ns))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := y.client.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the namespace is still there: %v\n%s", err, y.logTail())
		}
		time.Sleep(100 * time.Millisecond)
	}
}
