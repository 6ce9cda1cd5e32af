// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

func TestWhichStacksGetAnotherBackend(t *testing.T) {
	custom := infrav1.TerraformSpec{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}}
	for what, c := range map[string]struct {
		stack infrav1.Terraform
		want  string
	}{
		"it was applied":          {infrav1.Terraform{Status: infrav1.TerraformStatus{StateSerial: ptr.To[int64](3), LastAppliedRevision: "r"}}, ""},
		"it adopted a state":      {infrav1.Terraform{Status: infrav1.TerraformStatus{StateSerial: ptr.To[int64](3), LastAppliedRun: "r1"}}, ""},
		"its state is elsewhere":  {infrav1.Terraform{Status: infrav1.TerraformStatus{Backend: &infrav1.BackendStatus{Location: "gcs bucket=a"}}}, ""},
		"the spec names another":  {infrav1.Terraform{Spec: custom, Status: infrav1.TerraformStatus{StateSerial: ptr.To[int64](3)}}, ""},
		"nothing was applied":     {infrav1.Terraform{Status: infrav1.TerraformStatus{StateSerial: ptr.To[int64](0)}}, "nothing was applied yet"},
		"of an earlier release":   {infrav1.Terraform{Spec: custom, Status: infrav1.TerraformStatus{LastAppliedRevision: "r"}}, "not recorded yet"},
		"and was found unchanged": {infrav1.Terraform{Spec: custom, Status: infrav1.TerraformStatus{LastAppliedRun: "r1"}}, "not recorded yet"},
	} {
		err := mayRename(&session.Session{}, &c.stack, types.NamespacedName{Namespace: "team-a", Name: "vpc"})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

func TestADryRunSaysWhatItDoesNotCheck(t *testing.T) {
	got := wouldMigrate(types.NamespacedName{Namespace: "team-a", Name: "vpc"}, &infrav1.BackendStatus{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}})
	want := "Would set the backend of team-a/vpc, and then move the state there:\n  backend \"s3\" {}\n" +
		"The new backend was not contacted: neither its settings nor its content are checked.\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
