// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// address returns the common address of all instances: module.a.data.kind.name.
func (r resourceV4) address() string {
	address := r.Type + "." + r.Name
	if r.Mode == "data" {
		address = "data." + address
	}
	if r.Module != "" {
		address = r.Module + "." + address
	}
	return address
}

// formatIndex formats an instance's key as addresses do: nothing, [0] or ["name"].
func formatIndex(key json.RawMessage) (string, error) {
	if len(key) == 0 || string(key) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(key, &text) == nil {
		return "[" + quote(text) + "]", nil
	}
	var number int64
	if json.Unmarshal(key, &number) != nil {
		return "", errors.New("its index is neither a number nor a string")
	}
	return fmt.Sprintf("[%d]", number), nil
}

// quote quotes a string as in HCL, in one line and without control characters.
func quote(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }
