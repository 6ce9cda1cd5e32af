// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// exemptionNews lists the findings that do not count, and why; empty for none.
func exemptionNews(v *infrav1.PolicyVerdict) string {
	if len(v.Exempted) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nExempted:")
	for i, e := range v.Exempted {
		if i == shownFindings {
			fmt.Fprintf(&b, "\n  and %d more", len(v.Exempted)-shownFindings)
			break
		}
		what := strings.TrimPrefix(e.Address+": ", ": ") + e.Message
		fmt.Fprintf(&b, "\n  %s %s until %s (%s): %s", e.Policy, e.Rule, e.Expires.UTC().Format(time.RFC3339), e.Reason, what)
	}
	return b.String()
}
