// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestImports(t *testing.T) {
	puretest.Imports(t, "cmp", "fmt", "slices", "strings", "time", "github.com/yuba-dev/yuba/internal/kit/shorten", "github.com/yuba-dev/yuba/internal/kit/times")
}
