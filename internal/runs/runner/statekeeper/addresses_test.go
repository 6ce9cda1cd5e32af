// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statekeeper

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// FuzzAddresses: foreign states never break Addresses.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte(`{"version":4,"resources":[{"module":"module.m","mode":"managed","type":"t","name":"n","instances":[{"index_key":"a\"b"},{"index_key":1},{}]}]}`))
	f.Add([]byte(`{"encrypted_data":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(_ *testing.T, state []byte) {
		Addresses(state)
		spool.SerialOf(state)
		spool.Complete(state)
	})
}

func TestAddressesOfAState(t *testing.T) {
	cases := map[string]struct {
		state    string
		want     map[string]bool
		readable bool
	}{
		"no state": {"", map[string]bool{}, true},
		"plain, counted, keyed and in modules": {`{"version":4,"resources":[
			{"mode":"managed","type":"a","name":"b","instances":[{}]},
			{"mode":"managed","type":"a","name":"n","instances":[{"index_key":0},{"index_key":11}]},
			{"module":"module.m[\"x\"]","mode":"managed","type":"a","name":"k","instances":[{"index_key":"q\"t"}]},
			{"mode":"data","type":"a","name":"d","instances":[{}]}]}`,
			map[string]bool{"a.b": true, "a.n[0]": true, "a.n[11]": true, `module.m["x"].a.k["q\"t"]`: true}, true},
		"an encrypted state": {`{"serial":1,"encrypted_data":"xx"}`, nil, false},
		"no JSON":            {"{", nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, readable := Addresses([]byte(c.state))
			if diff := cmp.Diff(c.want, got); diff != "" || readable != c.readable {
				t.Errorf("readable %v: %s", readable, diff)
			}
		})
	}
}
