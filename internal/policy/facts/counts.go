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

// countState counts the managed resource instances of a state. It decodes no attributes.
func countState(raw json.RawMessage) (n int, err error) {
	if len(raw) == 0 {
		return 0, nil
	}
	s := &scanner{text: raw}
	if s.null() {
		return 0, nil
	}
	err = s.object(func(name []byte) error {
		if string(name) != "values" {
			return s.skip()
		}
		if s.null() {
			return nil
		}
		return s.object(func(name []byte) error {
			if string(name) != "root_module" {
				return s.skip()
			}
			return countModule(s, &n, 0)
		})
	})
	return n, err
}

// countModule counts those of one module of a state, and of its children.
func countModule(s *scanner, n *int, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("modules are nested more than %d deep", maxDepth)
	}
	return s.object(func(name []byte) error {
		switch string(name) {
		case "child_modules":
			return s.list(func() error { return countModule(s, n, depth+1) })
		case "resources":
			return s.list(func() error {
				var mode, deposed string
				err := s.object(func(name []byte) error {
					switch string(name) {
					case "mode":
						return s.into(&mode)
					case "deposed_key":
						return s.into(&deposed)
					}
					return s.skip()
				})
				if mode == "managed" && deposed == "" {
					*n++
				}
				return err
			})
		}
		return s.skip()
	})
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
