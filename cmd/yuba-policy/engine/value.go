// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"

	"github.com/open-policy-agent/opa/v1/ast"
)

// parseValue reads JSON.
func parseValue(text []byte) (ast.Value, error) {
	return ast.ValueFromReader(bytes.NewReader(text))
}
