// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestLegacyWorks(t *testing.T) {
	own := func(t *infrav1.Terraform) {
		t.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: "backend \"s3\" {}"}
	}
	progressing := readyIs("Unknown", infrav1.ReasonProgressing)
	for sentence, c := range map[string]struct {
		stack  *infrav1.Terraform
		waited time.Duration
		want   bool
	}{
		"a stack that is ready is idle":                                {stackLike(), 0, false},
		"one in progress is not":                                       {stackLike(progressing), time.Minute, true},
		"after minutes, only the lock counts":                          {stackLike(progressing), runnerPatience, false},
		"with a backend of its own, it is never taken to have ended":   {stackLike(progressing, own), 24 * time.Hour, true},
		"with a backend of its own, it is idle when it is ready again": {stackLike(own), 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := legacyWorks(c.stack, c.waited); got != c.want {
				t.Errorf("works: %v", got)
			}
		})
	}
}
