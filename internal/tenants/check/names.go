// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// identity tells objects apart, as an API does: the version of their kind makes no difference.
type identity struct {
	schema.GroupKind
	namespace, name string
}

// String returns "Secret default/acme".
func (i identity) String() string {
	return i.Kind + " " + strings.TrimPrefix(i.namespace+"/"+i.name, "/")
}

func identityOf(o render.Object) identity {
	return identity{o.Object.GroupVersionKind().GroupKind(), o.Object.GetNamespace(), o.Object.GetName()}
}

// identities finds objects that two tenants would share. That two of one tenant are one is found by
// rendering.
func (c *checker) identities(objects []render.Object) {
	first := map[identity]string{}
	for _, o := range objects {
		first[identityOf(o)] = o.ID
	}
	others, whole := c.objects(another(c.subject.Row), false)
	if !whole {
		return // with other values it does not render; that says nothing of this one
	}
	for _, o := range others {
		if id := identityOf(o); first[id] == o.ID {
			c.find(Warning, o.ID, "every tenant would have the same %s, and all but the first would conflict with it; put {{ .uid }} into its name or namespace", id)
		}
	}
}

// another is a row that has nothing in common with this one.
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
