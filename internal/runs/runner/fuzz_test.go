// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// FuzzAddresses: a state that somebody else wrote never breaks the reading of it.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte(`{"version":4,"resources":[{"module":"module.m","mode":"managed","type":"t","name":"n","instances":[{"index_key":"a\"b"},{"index_key":1},{}]}]}`))
	f.Add([]byte(`{"encrypted_data":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(_ *testing.T, state []byte) {
		addresses(state)
		spool.SerialOf(state)
		spool.Complete(state)
	})
}
