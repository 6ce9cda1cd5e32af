// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestImports(t *testing.T) {
	puretest.Imports(t, "fmt", "path", "slices", "strings", "time", "github.com/yuba-dev/yuba/internal/pullrequests/forge")
}
