// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestImports(t *testing.T) {
	puretest.Imports(t, "cmp", "crypto/sha256", "encoding/hex", "fmt", "slices", "strings", "time", "github.com/yuba-dev/yuba/internal/kit/times",
		"github.com/yuba-dev/yuba/internal/kit/shorten", "github.com/yuba-dev/yuba/internal/objects/rollout")
}
