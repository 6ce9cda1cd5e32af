// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// A stack whose tool is missing names the available tools, and continues when the tool is
// installed.
func TestAMissingToolIsToldAndFoundLater(t *testing.T) {
	tofu := tofutest.Tofu(t)
	old := filepath.Join(t.TempDir(), "tofu")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = version ] && { echo '{\"terraform_version\":\"1.7.0\"}'; exit; }\nexec %s \"$@\"\n", tofu)
	if err := os.WriteFile(old, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	y := alone(t, "--tofu", old)
	obj := inline(y.namespace(t), "vpc", `resource "terraform_data" "a" {}`, auto, func(o *infrav1.Terraform) {
		o.Spec.Tool = &infrav1.ToolSpec{Name: "tofu", Version: ">= 1.8"}
	})
	y.create(t, obj)
	failed := y.await(t, obj, "its tool is missing", func(o *infrav1.Terraform) bool {
		c := condition(o, infrav1.ConditionReady)
		return c.Status == metav1.ConditionFalse && c.Reason == infrav1.ReasonNewFailed
	})
	message := condition(failed, infrav1.ConditionReady).Message
	for _, want := range []string{"the stack requires tofu >= 1.8", "tofu 1.7.0 (" + old + ")", filepath.Join(y.dir, "tools") + ", named tofu-VERSION"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message %q does not say %q", message, want)
		}
	}
	place := filepath.Join(y.dir, "tools", "tofu", "new")
	if err := os.MkdirAll(place, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tofutest.Link(tofu, filepath.Join(place, "tofu")); err != nil {
		t.Fatal(err)
	}
	done := y.await(t, obj, "it is ready", ready)
	rec, err := y.content(t).Run(t.Context(), obj.Namespace, obj.Name, done.Status.LastAppliedRun)
	if err != nil || rec.Result.ToolName != "tofu" || rec.Result.ToolVersion == "1.7.0" {
		t.Errorf("run %+v, %v", rec.Result, err)
	}
	out, _ := y.do(t, "tools", "-o", "json")
	var listed struct {
		Items []struct {
			Name, Version, Path, Runner string
			Default                     bool
		}
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Items) < 2 {
		t.Fatalf("tools %s, %v", out, err)
	}
	if first, second := listed.Items[0], listed.Items[1]; first.Path != old || !first.Default || first.Runner == "" || second.Path != filepath.Join(place, "tofu") || second.Version != rec.Result.ToolVersion {
		t.Errorf("tools %+v", listed.Items)
	}
}
