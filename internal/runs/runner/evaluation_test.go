// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// tofu ignores signals while it evaluates an expression. The runner kills it, or it crashes, when
// it uses all memory of the run; the failure reports it.
func TestAnEndlessExpressionEnds(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("endless", run.OperationPlan, program(`
locals { big = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : "${a} ${b} ${c}"]]] }
output "size" { value = length(jsonencode(local.big)) }`))
	r.spec.Limits.Run.MemoryBytes = 300 << 20
	start := time.Now()
	result := b.do(r)
	if result.Class != run.FailureLimit || !strings.Contains(result.Error, "(--run-memory)") {
		t.Errorf("%s %s after %s: %.1000s", result.Outcome, result.Class, time.Since(start), result.Error)
	}
}
