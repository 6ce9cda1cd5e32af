// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// Receivers of events read the status's revision: it must be the one that broke the inputs, or that
// the run used.
func TestRevisionOfEvents(t *testing.T) {
	const before, now = "main@sha1:a", "main@sha1:b"
	for sentence, test := range map[string]struct {
		source string
		ended  *run.Record
		want   string
	}{
		"a reconciliation with a new revision":      {now, nil, now},
		"the end of a run of the previous revision": {now, &run.Record{}, before},
		"a missing source":                          {"", nil, before},
		"nothing new":                               {before, nil, before},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &infrav1.Terraform{Status: infrav1.TerraformStatus{LastAttemptedRevision: before}}
			p := passOver(obj)
			p.ended = test.ended
			p.facts = decide.Facts{Source: decide.Source{Revision: test.source}}
			if got := subject(&p.gathered).Status.LastAttemptedRevision; got != test.want {
				t.Errorf("the event is about %s, want %s", got, test.want)
			}
			if obj.Status.LastAttemptedRevision != before {
				t.Error("the object itself was changed")
			}
		})
	}
}
