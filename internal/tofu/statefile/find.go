// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrEncrypted means that OpenTofu encrypted a state, so that only tofu can read it.
var ErrEncrypted = errors.New("OpenTofu encrypted the state")

// sparseV4 is a state of which only the addresses are decoded.
type sparseV4 struct {
	header
	Resources []struct {
		Module    string          `json:"module"`
		Mode      string          `json:"mode"`
		Type      string          `json:"type"`
		Name      string          `json:"name"`
		Provider  string          `json:"provider"`
		Instances json.RawMessage `json:"instances"`
	} `json:"resources"`
}

// Find is [Parse] and [File.Resource] for one address. It decodes no other resource, and so costs a fraction
// of the time and the memory. An encrypted state is ErrEncrypted.
func Find(data []byte, address string) (found Resource, ok bool, err error) {
	var sparse sparseV4
	if err := unmarshal(data, &sparse, &sparse.header); err != nil {
		return found, false, fmt.Errorf("read a state: %w", err)
	}
	if sparse.encrypted() {
		return found, false, ErrEncrypted
	}
	for _, r := range sparse.Resources {
		resource := resourceV4{Module: r.Module, Mode: r.Mode, Type: r.Type, Name: r.Name, Provider: r.Provider}
		if !strings.HasPrefix(address, resource.address()) || len(r.Instances) == 0 {
			continue
		}
		if err := json.Unmarshal(r.Instances, &resource.Instances); err != nil {
			return found, false, fmt.Errorf("read %s in a state: %w", resource.address(), withoutContent(err))
		}
		for _, instance := range resource.Instances {
			if index, err := formatIndex(instance.IndexKey); err == nil && (resource.address()+index != address || instance.Deposed != "") {
				continue
			}
			if found, err = parseInstance(resource, instance); err != nil {
				return found, false, fmt.Errorf("read %s in a state: %w", resource.address(), err)
			}
			return found, true, nil
		}
	}
	return found, false, nil
}

// Below are the resources at or below these addresses; all without any.
func Below(resources []Resource, addresses []string) (below []Resource) {
	if len(addresses) == 0 {
		return resources
	}
	for _, r := range resources {
		if slices.ContainsFunc(addresses, func(address string) bool {
			rest, ok := strings.CutPrefix(r.Address, address)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
		}) {
			below = append(below, r)
		}
	}
	return below
}
