// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// contractNews says whether the pending plan keeps the contracts that the stack publishes; empty if
// it publishes none.
func contractNews(t *infrav1.Terraform) string {
	c := t.Status.Plan.Contracts
	if c == nil || t.Status.Plan.Pending == "" {
		return ""
	}
	var b strings.Builder
	for _, v := range c.Verdicts {
		switch v.Outcome {
		case infrav1.ContractBreaks:
			b.WriteString("\nThis plan breaks a contract: ")
		case infrav1.ContractUnknown:
			b.WriteString("\nThis plan may break a contract: ")
		default:
			b.WriteString("\nThis plan keeps its contract: ")
		}
		b.WriteString(v.Message)
	}
	return diagnostic.Printable(b.String())
}
