// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/standintest"
)

var standinsBuilt struct {
	once sync.Once
	err  error
}

// buildStandins adds them to the mirror of every Yuba of these tests.
func buildStandins(t *testing.T) {
	t.Helper()
	standinsBuilt.once.Do(func() { standinsBuilt.err = standintest.Build(t, providerMirror()) })
	if standinsBuilt.err != nil {
		t.Fatal(standinsBuilt.err)
	}
}
