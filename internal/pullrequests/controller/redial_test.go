// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// TestAConnectionThatFailedIsNotTriedAtEveryPass: passes begin for many reasons.
func TestAConnectionThatFailedIsNotTriedAtEveryPass(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	down, limit := &forge.DownError{Doing: "read", Reason: "HTTP status 502"}, &forge.LimitedError{Doing: "read", Until: start.Add(time.Hour)}
	o := &yubav1.PullRequestPlanner{}
	o.Namespace, o.Spec.Interval.Duration = "prod", time.Minute
	source := repository("infra")
	for sentence, c := range map[string]struct {
		err    error
		steps  []time.Duration
		config map[int]string
		asked  map[int]string
		tries  int
		last   time.Duration
	}{
		"a forge that is down is tried after 2, 4 and 8 s": {err: down, steps: []time.Duration{0, 1, 2, 3, 5, 6, 13, 14}, tries: 4, last: 30},
		"a limit is respected":                             {err: limit, steps: []time.Duration{0, 10, 600, 3599}, tries: 1, last: 3600},
		"nobody can ask before a limit ends":               {err: limit, steps: []time.Duration{0, 10}, asked: map[int]string{1: "now"}, tries: 1, last: 3600},
		"a token that is not accepted waits longer":        {err: &forge.TokenError{Doing: "read"}, steps: []time.Duration{0, 2, 59, 60}, tries: 2, last: 120},
		"it ends":       {err: limit, steps: []time.Duration{0, 3600}, tries: 2, last: 3600},
		"a person asks": {err: down, steps: []time.Duration{0, 1}, asked: map[int]string{1: "now"}, tries: 2, last: 5},
		"another token is tried at once, as if it was new":   {err: down, steps: []time.Duration{0, 2, 3}, config: map[int]string{2: "other"}, tries: 3, last: 5},
		"another token is tried before the end of the limit": {err: limit, steps: []time.Duration{0, 1}, config: map[int]string{1: "other"}, tries: 2, last: 3600},
	} {
		t.Run(sentence, func(t *testing.T) {
			now, config := start, "config"
			r, m := &Reconciler{now: func() time.Time { return now }}, &memory{}
			tries := 0
			for i, after := range c.steps {
				now, m.wants = start.Add(after*time.Second), time.Time{}
				if c.config[i] != "" {
					config = c.config[i]
				}
				o.Annotations = map[string]string{requestedAt: c.asked[i]}
				last := m.refused["infra"]
				m.refused = map[string]refusal{}
				_, err := r.redial(o, m, source, last, config, func() (*link, error) { tries++; return nil, c.err })
				if !errors.Is(err, c.err) {
					t.Errorf("after %d s: %v", after, err)
				}
			}
			if tries != c.tries || m.wants.Sub(start) != c.last*time.Second {
				t.Errorf("it was tried %d times, and will be again after %v; want %d, %v", tries, m.wants.Sub(start), c.tries, c.last*time.Second)
			}
		})
	}
}
