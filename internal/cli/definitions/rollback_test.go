// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"slices"
	"testing"
	"time"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
)

func TestRestoreKeepsWhatIsNotOfTheRevision(t *testing.T) {
	d := &appv1.ApplicationDefinition{}
	d.Annotations = map[string]string{"other": "stays", appv1.AnnotationUpgradeTimeout: "1h"}
	d.Spec.Application.OpenAPISchema = "new"
	d.Spec.Dashboard, d.Spec.Rollout = &appv1.Dashboard{Icon: "icon"}, &appv1.Rollout{Paused: true}
	earlier := &appv1.ApplicationDefinition{}
	earlier.Annotations = map[string]string{appv1.AnnotationInstallTimeout: "5m"}
	earlier.Spec.Application.OpenAPISchema = "old"
	if !restore(d, earlier) {
		t.Error("it reports no change")
	}
	if d.Spec.Application.OpenAPISchema != "old" || d.Spec.Dashboard.Icon != "icon" || !d.Spec.Rollout.Paused {
		t.Errorf("restored: %+v", d.Spec)
	}
	if a := d.Annotations; len(a) != 2 || a["other"] != "stays" || a[appv1.AnnotationInstallTimeout] != "5m" {
		t.Errorf("annotations: %v", a)
	}
	if restore(d, earlier) {
		t.Error("the same again is a change")
	}
}

func TestHistory(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	list := []revisions.Revision{
		{Number: 3, Generation: 7, Accepted: now.Add(-time.Minute), Definition: &appv1.ApplicationDefinition{}},
		{Number: 2, Generation: 5, Accepted: now.Add(-time.Hour), Definition: &appv1.ApplicationDefinition{}},
		{Number: 1, Definition: &appv1.ApplicationDefinition{}},
	}
	for _, test := range []struct {
		state revisions.State
		want  []string
	}{
		{revisions.State{Base: 3, Target: 3}, []string{"current", "", ""}},
		{revisions.State{Base: 1, Target: 3}, []string{"rolling out", "", "base"}},
	} {
		var got []string
		l := historyOf(test.state, list, now)
		for _, row := range l.Rows[1:] {
			got = append(got, row[3])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v", test.state, l.Rows)
		}
	}
}
