// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestTheQueueOfANamespace(t *testing.T) {
	apitest.API(t)
	ns := serveAFleet(t)
	got := yuba(t, ns, "queue", "-o", "name")
	got.want(t, ui.ExitOK, ns+"/vpc\n"+ns+"/dns\n")
	served.queue.Store(&content.Queue{Items: []content.QueueEntry{}})
	if got := yuba(t, ns, "queue", "-o", "json"); !strings.Contains(got.out, `"items": []`) {
		t.Errorf("got %s", got.out)
	}
	yuba(t, ns, "queue").want(t, ui.ExitOK, "", "No run is running or queued.")
}
