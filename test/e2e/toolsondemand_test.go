// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The annotation of a namespace names a version that nobody has: Yuba downloads it from its origin,
// verifies it, keeps it, and runs with it.
func TestAToolOnDemand(t *testing.T) {
	const version = "1.12.5"
	releases := releasetest.New(t)
	releases.Publish(version, tofutest.Renumbered(t, version))
	y := alone(t, "--tofu", tofutest.Tofu(t), "--tools-url", releases.URL, "--tools-key", releases.KeyFile, "--tools-allow", "opentofu ~> 1.12.0")
	ns := y.namespace(t)
	pin := func(to string) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+infrav1.AnnotationToolVersion+`":"`+to+`"}}}`))
		if err := y.client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	pin(version)
	obj := inline(ns, "vpc", `resource "terraform_data" "a" {}`, auto)
	y.create(t, obj)
	done := y.await(t, obj, "it is ready", ready)
	rec, err := y.content(t).Run(t.Context(), ns, obj.Name, done.Status.LastAppliedRun)
	if err != nil || rec.Result.ToolName != "tofu" || rec.Result.ToolVersion != version {
		t.Fatalf("run %+v, %v", rec.Result, err)
	}
	kept, _ := y.do(t, "tools", "kept", "-o", "json")
	for _, want := range []string{`"version": "` + version + `"`, `"by": "stack ` + ns + "/vpc\"", `"from": "` + releases.URL, `"sha256": "`} {
		if !strings.Contains(kept, want) {
			t.Errorf("the registry keeps %s\nwithout %s", kept, want)
		}
	}
	same(t, "users of tofu", y.users(t, "tofu@<1.12.6", ns), "vpc "+version+" ("+version+") applied")
	// A version that may not be downloaded fails the run with what to do.
	other := inline(ns, "other", `resource "terraform_data" "a" {}`, auto, func(o *infrav1.Terraform) {
		o.Spec.Tool = &infrav1.ToolSpec{Name: "tofu", Version: "1.11.9"}
	})
	y.create(t, other)
	failed := y.await(t, other, "its tool is not allowed", func(o *infrav1.Terraform) bool {
		c := condition(o, infrav1.ConditionReady)
		return c.Status == metav1.ConditionFalse && c.Reason == infrav1.ReasonNewFailed
	})
	message := condition(failed, infrav1.ConditionReady).Message
	for _, want := range []string{"the stack requires tofu 1.11.9", "may only download tofu ~> 1.12.0", "a wider --tools-allow"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message %q does not say %q", message, want)
		}
	}
}
