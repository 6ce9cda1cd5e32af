// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"

	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// identities finds objects that two tenants would share. Rendering finds those that one tenant has
// twice.
func (c *checker) identities(objects []render.Object) {
	first := map[render.Identity]string{}
	for _, o := range objects {
		first[graph.IdentityOf(o.Object)] = o.ID
	}
	others, whole := c.objects(another(c.subject.Row), false)
	if !whole {
		return // it does not render with other values, which is not a mistake
	}
	for _, o := range others {
		if id := graph.IdentityOf(o.Object); first[id] == o.ID {
			c.find(Warning, o.ID, "every tenant would have the same %s, and all but the first would conflict with it; put {{ .uid }} into its name or namespace", id)
		}
	}
}

// another returns a row with other values everywhere.
func another(r row.Row) row.Row {
	other := r
	other.UID = r.UID + "2"
	other.SafeUID = row.SafeUID(other.UID)
	if r.HostOrURL != "" {
		other.HostOrURL = fmt.Sprintf("https://%s.other.example.com", other.SafeUID)
		other.Host = row.Host(other.HostOrURL)
	}
	other.Extra = maps.Clone(r.Extra)
	for name, value := range other.Extra {
		other.Extra[name] = value + "2" // a number stays one
	}
	return other
}
