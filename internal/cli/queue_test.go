// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestTheQueueIsListed(t *testing.T) {
	began := noon.Add(-30 * time.Second)
	q := content.Queue{Items: []content.QueueEntry{
		{Namespace: "a", Name: "vpc", Operation: "apply", Phase: "applying", Urgency: "awaited", Trigger: "approved", Since: noon.Add(-time.Hour), Started: &began},
		{Namespace: "a", Name: "dns", Operation: "plan", Phase: content.PhasePrepared, Urgency: "drift", Trigger: "interval", Since: began},
		{Namespace: "b", Name: "web", Operation: "plan", Place: 1, Urgency: "change", Trigger: "generation 3", Since: began, Waits: "its namespace is full"}}}
	for form, want := range map[string]string{
		"": "PLACE      STACK   RUN     FOR       AGE   WHY\n" +
			"at work    a/vpc   apply   awaited   30s   approved\n" +
			"prepared   a/dns   plan    drift     30s   interval\n" +
			"1          b/web   plan    change    30s   generation 3; its namespace is full\n",
		"name": "a/vpc\na/dns\nb/web\n",
	} {
		var out, news bytes.Buffer
		s := &session{app: &app{out: &out, err: &news}}
		if err := listedQueue(q, noon).show(s, &output{form: form}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%q: %s", form, diff)
		}
	}
}

func TestTheQueueOfANamespace(t *testing.T) {
	apitest.API(t)
	ns := serveAFleet(t)
	got := yuba(t, ns, "queue", "-o", "name")
	got.want(t, exitOK, ns+"/vpc\n"+ns+"/dns\n")
	served.queue.Store(&content.Queue{Items: []content.QueueEntry{}})
	if got := yuba(t, ns, "queue", "-o", "json"); !strings.Contains(got.out, `"items": []`) {
		t.Errorf("got %s", got.out)
	}
	yuba(t, ns, "queue").want(t, exitOK, "", "Nothing is at work and nothing waits.")
}
