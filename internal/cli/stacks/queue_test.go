// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

func TestTheQueueIsListed(t *testing.T) {
	began := noon.Add(-30 * time.Second)
	q := content.Queue{Items: []content.QueueEntry{
		{Namespace: "a", Name: "vpc", Operation: "apply", Phase: "applying", Urgency: "awaited", Trigger: "approved", Since: noon.Add(-time.Hour), Started: &began},
		{Namespace: "a", Name: "dns", Operation: "plan", Phase: content.PhasePrepared, Urgency: "drift", Trigger: "interval", Since: began},
		{Namespace: "b", Name: "web", Operation: "plan", Place: 1, Urgency: "change", Trigger: "generation 3", Since: began, Waits: "its namespace is full"}}}
	for form, want := range map[string]string{
		"": "PLACE      STACK   RUN     FOR       AGE   WHY\n" +
			"running    a/vpc   apply   awaited   30s   approved\n" +
			"prepared   a/dns   plan    drift     30s   interval\n" +
			"1          b/web   plan    change    30s   generation 3; its namespace is full\n",
		"name": "a/vpc\na/dns\nb/web\n",
	} {
		var out, news bytes.Buffer
		s := &session.Session{App: &session.App{Console: &ui.Console{Out: &out, Err: &news}}}
		if err := listedQueue(q, noon).Show(s.Console, &ui.Output{Form: form}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%q: %s", form, diff)
		}
	}
}
