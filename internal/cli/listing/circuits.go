// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// circuitHead names the columns of circuit breakers beside their names; circuitCells are what is in them.
var circuitHead = []string{"STATE", "STACKS", "OPENED", "MESSAGE"}

func circuitCells(o *session.Object, now time.Time) map[string]string {
	opened := ""
	if at := o.Status.OpenedAt; at != nil {
		opened = ui.Age(now, at.Time) + " ago"
	}
	return map[string]string{"NAME": o.GetName(), "STATE": o.Status.State, "STACKS": strconv.Itoa(o.Status.Affected), "OPENED": opened, "MESSAGE": o.Message()}
}
