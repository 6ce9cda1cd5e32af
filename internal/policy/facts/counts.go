// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"fmt"
)

// add counts a change. Data sources are in the total only.
func (c *Counts) add(change *Change) {
	c.Total.add(change)
	if change.Mode != "managed" {
		return
	}
	provider, kind := c.ByProvider[change.Provider], c.ByType[change.Type]
	provider.add(change)
	kind.add(change)
	c.ByProvider[change.Provider], c.ByType[change.Type] = provider, kind
}

func (t *Tally) add(c *Change) {
	switch c.Action {
	case ActionNoOp:
		t.NoOp++
	case ActionCreate:
		t.Create++
	case ActionRead, ActionOpen:
		t.Read++
	case ActionUpdate:
		t.Update++
	case ActionReplace:
		t.Replace++
	case ActionDelete:
		t.Delete++
	case ActionForget:
		t.Forget++
	default:
		t.Unknown++
	}
	if c.Imports {
		t.Import++
	}
	if c.Previous != "" {
		t.Move++
	}
}

// Changes returns the number of instances that the apply would change, by any action.
func (t Tally) Changes() int {
	return t.Create + t.Update + t.Replace + t.Delete + t.Forget + t.Unknown
}

// stateModule is a module in a state, without the attributes.
type stateModule struct {
	Resources []struct {
		Mode    string `json:"mode"`
		Deposed string `json:"deposed_key"`
	} `json:"resources"`
	ChildModules []stateModule `json:"child_modules"`
}

// countState counts the managed resource instances of a state.
func countState(raw json.RawMessage) (int, error) {
	var state struct {
		Values *struct {
			RootModule stateModule `json:"root_module"`
		} `json:"values"`
	}
	if len(raw) == 0 {
		return 0, nil
	}
	if json.Unmarshal(raw, &state) != nil {
		return 0, errBroken
	}
	if state.Values == nil {
		return 0, nil
	}
	return state.Values.RootModule.count(), nil
}

func (m *stateModule) count() int {
	n := 0
	for _, r := range m.Resources {
		if r.Mode == "managed" && r.Deposed == "" {
			n++
		}
	}
	for i := range m.ChildModules {
		n += m.ChildModules[i].count()
	}
	return n
}

// readChecks returns the checks that did not pass.
func readChecks(raw json.RawMessage) ([]string, error) {
	var list []struct {
		Address struct {
			ToDisplay string `json:"to_display"`
		} `json:"address"`
		Status string `json:"status"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, errBroken
	}
	var open []string
	for _, c := range list {
		if c.Status != "pass" {
			open = append(open, fmt.Sprintf("%s: %s", c.Address.ToDisplay, c.Status))
		}
	}
	return open, nil
}
