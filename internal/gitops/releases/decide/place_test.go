// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"
)

func TestLeft(t *testing.T) {
	here := Place{"app", "team", "team"}
	for sentence, test := range map[string]struct {
		is   Place
		want string
	}{
		"the same":              {here, ""},
		"another storage":       {Place{"app", "team", "helm"}, "the storage namespace of the release changes from team to helm"},
		"another namespace":     {Place{"app", "other", "team"}, "the namespace of the release changes from team to other"},
		"another name":          {Place{"shop", "team", "team"}, "the name of the release changes from app to shop"},
		"everything is another": {Place{"a", "b", "c"}, "the storage namespace of the release changes from team to c"},
	} {
		if got := Left(here, test.is); got != test.want {
			t.Errorf("%s: %q", sentence, got)
		}
	}
}

func TestReleaseName(t *testing.T) {
	for name, want := range map[string]string{
		"app":                   "app",
		strings.Repeat("a", 53): strings.Repeat("a", 53),
		// The name that Flux documents for such a one: 40 characters, and 12 of the SHA-256.
		strings.Repeat("a", 54): strings.Repeat("a", 40) + "-" + "a3f01b693925",
	} {
		if got := ReleaseName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSameDeployment(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 5, 300, time.UTC)
	d := Deployment{Name: "app", Namespace: "team", Number: 3, Chart: "app", ChartVersion: "1.0.0", First: at, Last: at.Add(time.Hour)}
	for sentence, test := range map[string]struct {
		change func(*Deployment)
		want   bool
	}{
		"the same": {func(*Deployment) {}, true},
		"times in seconds": {func(e *Deployment) {
			e.First, e.Last = e.First.Truncate(time.Second), e.Last.Truncate(time.Second).Local()
		}, true},
		"deployed again":        {func(e *Deployment) { e.Last = e.Last.Add(time.Second) }, false},
		"another version of it": {func(e *Deployment) { e.Number++ }, false},
		"another chart":         {func(e *Deployment) { e.ChartVersion = "2.0.0" }, false},
		"another release":       {func(e *Deployment) { e.Namespace = "other" }, false},
	} {
		e := d
		test.change(&e)
		if d.Same(e) != test.want || e.Same(d) != test.want {
			t.Errorf("%s: %t", sentence, d.Same(e))
		}
	}
	if (Deployment{}).Same(Deployment{}) {
		t.Error("records without times are the same")
	}
}
