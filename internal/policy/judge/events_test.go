// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func TestEventsOfPolicies(t *testing.T) {
	const source = "GitRepository/flux/rules"
	in := func(reason, message string, bundles ...yubav1.PolicyBundle) *yubav1.Policy {
		p := &yubav1.Policy{}
		if p.Status.Bundles = bundles; reason != "" {
			p.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: reason, Message: message}}
		}
		return p
	}
	one, two := yubav1.PolicyBundle{Source: source, Revision: "main@1", Digest: "sha256:1111111111111111"}, yubav1.PolicyBundle{Source: source, Revision: "main@2", Digest: "sha256:2222222222222222"}
	invalid := news{"Warning", "InvalidRule", "Check", "no"}
	for sentence, test := range map[string]struct {
		before, now *yubav1.Policy
		want        []news
	}{
		"a new one that can be used":    {in("", ""), in("InForce", "1 rule"), nil},
		"a new one that cannot be used": {in("", ""), in("InvalidRule", "no"), []news{invalid}},
		"it cannot be used any more":    {in("InForce", "1 rule"), in("InvalidRule", "no"), []news{invalid}},
		"it still cannot be used":       {in("InvalidRule", "no"), in("InvalidRule", "no"), nil},
		"for another reason":            {in("InvalidRule", "neither"), in("InvalidRule", "no"), []news{invalid}},
		"it was mended":                 {in("InvalidRule", "no"), in("InForce", "1 rule"), []news{{"Normal", "Recovered", "Check", "All rules can be used again: 1 rule"}}},
		"it was put into audit mode":    {in("InForce", "1 rule"), in("Audited", "1 rule"), nil},
		"its source is gone":            {in("InForce", "1 rule", one), in("LastBundle", "gone", one), []news{{"Warning", "LastBundle", "Check", "gone"}}},
		"its source is back":            {in("LastBundle", "gone", one), in("InForce", "1 rule", one), []news{{"Normal", "Recovered", "Check", "All rules can be used again: 1 rule"}}},
		"its first rules":               {in("", ""), in("InForce", "1 rule", one), nil},
		"other rules from its source": {in("InForce", "1 rule", one), in("InForce", "1 rule", two),
			[]news{{"Normal", "BundleChanged", "Load", "Rules of GitRepository/flux/rules at main@2 are in force (sha256:222222222222); before, those at main@1 (sha256:111111111111)"}}},
	} {
		if diff := cmp.Diff(test.want, newsOf(test.before, test.now), cmp.AllowUnexported(news{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestUnusedBundles(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	keys := map[string]time.Time{"used": ago(48 * time.Hour), "old": ago(2 * time.Hour), "just": ago(unusedFor), "young": ago(10 * time.Minute), "younger": ago(time.Minute)}
	remove, next := unused(keys, map[string]bool{"used": true}, now)
	if diff := cmp.Diff([]string{"just", "old"}, remove); diff != "" || !next.Equal(now.Add(unusedFor-time.Minute)) {
		t.Errorf("next %s (-want +got):\n%s", next, diff)
	}
	if remove, next := unused(keys, map[string]bool{"used": true, "old": true, "just": true, "young": true, "younger": true}, now); remove != nil || !next.IsZero() {
		t.Errorf("removes %q, next %s", remove, next)
	}
}
