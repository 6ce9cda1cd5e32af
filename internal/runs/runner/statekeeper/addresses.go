// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statekeeper

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// LastState is the last state that tofu wrote anywhere.
func (k *Keeper) LastState() []byte {
	if len(k.RescuedState) > 0 {
		return k.RescuedState
	}
	state, err := k.site.Space.Read(k.site.Space.InModule(k.site.Space.StateIn()), MaxState)
	if err != nil || !spool.Complete(state) {
		return nil // tofu died while writing; the server has earlier states, and this list errs on the safe side
	}
	return state
}

// Addresses returns a state's resource instances; false if unreadable, for example encrypted.
func Addresses(state []byte) (map[string]bool, bool) {
	known := map[string]bool{}
	if len(state) == 0 {
		return known, true
	}
	var file struct {
		Encrypted string `json:"encrypted_data"`
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				Key any `json:"index_key"`
			}
		}
	}
	if err := json.Unmarshal(state, &file); err != nil || file.Encrypted != "" {
		return nil, false
	}
	for _, r := range file.Resources {
		address := r.Type + "." + r.Name
		if r.Module != "" {
			address = r.Module + "." + address
		}
		if r.Mode == "data" {
			continue
		}
		for _, instance := range r.Instances {
			switch key := instance.Key.(type) {
			case nil:
				known[address] = true
			case string:
				known[address+"["+strconv.Quote(key)+"]"] = true
			default:
				known[fmt.Sprintf("%s[%v]", address, key)] = true
			}
		}
	}
	return known, true
}
