// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestWhichStatesAreRefactored(t *testing.T) {
	custom := infrav1.TerraformSpec{BackendConfig: &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}}
	at := func(location string) infrav1.TerraformStatus {
		return infrav1.TerraformStatus{Backend: &infrav1.BackendStatus{Location: location}}
	}
	for what, c := range map[string]struct {
		stack infrav1.Terraform
		want  string
	}{
		"Yuba keeps it":                       {infrav1.Terraform{}, ""},
		"it was moved here":                   {infrav1.Terraform{Status: at("yuba")}, ""},
		"a custom backend":                    {infrav1.Terraform{Spec: custom}, "custom backend"},
		"a custom backend, not yet moved":     {infrav1.Terraform{Spec: custom, Status: at("yuba")}, "custom backend"},
		"still elsewhere, as the status says": {infrav1.Terraform{Status: at("s3 bucket=a")}, "yuba state migrate"},
	} {
		err := mayReshape(&c.stack)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}
