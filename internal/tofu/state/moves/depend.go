// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"encoding/json"
	"fmt"
	"slices"
)

// bare is the address of a resource without any key, as dependencies have it.
func bare(a Address) string {
	a.calls, a.key = slices.Clone(a.calls), ""
	for i := range a.calls {
		a.calls[i].key = ""
	}
	return a.String()
}

// settle says where the resources of the states are now, by where they were.
func (m *mover) settle() map[site][]site {
	now := map[site][]site{}
	for name, d := range m.states {
		if d.changed {
			d.compact()
		}
		for _, r := range d.resources {
			at := site{name, bare(r.address())}
			for _, i := range r.instances {
				if !slices.Contains(now[i.home], at) {
					now[i.home] = append(now[i.home], at)
				}
			}
		}
	}
	return now
}

// depend lets the dependencies of a document's instances follow what moved.
func (d *document) depend(name string, now map[site][]site) {
	for _, r := range d.resources {
		for _, i := range r.instances {
			var list []string
			if json.Unmarshal(i.raw["dependencies"], &list) != nil || len(list) == 0 {
				continue
			}
			next := []string{}
			for _, address := range list {
				for _, at := range now[site{i.home.state, address}] { // nothing: it was removed, or never there
					if at.state == name {
						next = append(next, at.resource)
					}
				}
			}
			slices.Sort(next)
			i.setDependencies(list, slices.Compact(next))
		}
	}
}

func (i *instance) setDependencies(was, now []string) {
	switch {
	case slices.Equal(was, now):
	case len(now) == 0:
		delete(i.raw, "dependencies")
	default:
		i.raw["dependencies"], _ = json.Marshal(now) //nolint:errchkjson // texts
	}
}

// New is an empty state for a new stack. The lineage is a UUID of its own.
func New(version, lineage string) []byte {
	return fmt.Appendf(nil, "{\"version\":4,\"terraform_version\":%s,\"serial\":0,\"lineage\":%s,\"outputs\":{},\"resources\":[]}\n", text(version), text(lineage))
}
