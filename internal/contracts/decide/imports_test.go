// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

// The packages of this repository are pure as well: .golangci.yml says what they may import.
func TestImports(t *testing.T) {
	const contracts = "github.com/yuba-dev/yuba/internal/contracts/"
	puretest.Imports(t, "cmp", "fmt", "slices", "strings", contracts+"conform", contracts+"paths", contracts+"shape", contracts+"versions")
}
