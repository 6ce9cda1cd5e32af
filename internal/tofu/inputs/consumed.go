// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import "maps"

// Consume sets variables to the values of contracts, over all other values.
func (in *Inputs) Consume(variables map[string]Variable, origins map[string]string) {
	if len(variables) == 0 {
		return
	}
	if in.Variables == nil {
		in.Variables = map[string]Variable{}
	}
	if in.Origins == nil {
		in.Origins = map[string]string{}
	}
	maps.Copy(in.Variables, variables)
	maps.Copy(in.Origins, origins)
	for name := range variables {
		if _, given := origins[name]; !given {
			delete(in.Origins, name)
		}
	}
	in.consumed = variables
	in.Digest = in.digest()
}

// Consumes reports whether a variable has the value of a contract.
func (in *Inputs) Consumes(variable string) bool {
	_, ok := in.consumed[variable]
	return ok
}
