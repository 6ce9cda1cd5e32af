// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// varsKey is one entry of varsKeys: a key and the variable that it sets.
type varsKey struct{ from, to string }

// varsKeys parses the entries of varsKeys, each "key" or "key:variable".
func (r *resolver) varsKeys(field string, entries []string) (keys []varsKey, ok bool) {
	ok = true
	for i, entry := range entries {
		from, to, renamed := strings.Cut(entry, ":")
		if !renamed {
			to = from
		}
		if from == "" || to == "" || strings.Contains(to, ":") {
			r.problem(fmt.Sprintf("%s.varsKeys[%d]", field, i), Reference{}, "",
				"invalid rename pattern %q: write the name of a key, or KEY:VARIABLE to set a variable of another name", entry)
			ok = false
			continue
		}
		keys = append(keys, varsKey{from, to})
	}
	return keys, ok
}

// absentKey handles a missing key as tofu-controller does, on which programs rely: the variable is
// the empty string for a Secret, and not set for a ConfigMap. Later code drops it for other types.
func (r *resolver) absentKey(field string, o *object, key varsKey, optional bool) {
	outcome := fmt.Sprintf("the variable %q is not set", key.to)
	if o.ref.Kind == kindSecret {
		r.setEmpty(key, o)
		outcome = fmt.Sprintf("the variable %q is the empty string", key.to)
	}
	if !optional {
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %s has no key %q: %s", field, o.ref, key.from, outcome))
	}
}

// absentObject does the same for the keys of an optional missing object. A required one is a
// problem already.
func (r *resolver) absentObject(from *infrav1.VarsReference, keys []varsKey) {
	if from.Kind != kindSecret || !from.Optional {
		return
	}
	o := &object{ref: Reference{Kind: from.Kind, Namespace: r.namespace, Name: from.Name}}
	for _, key := range keys {
		r.setEmpty(key, o)
	}
}

// setEmpty sets a variable to the empty string. It is not added to the environment: nobody has set
// it.
func (r *resolver) setEmpty(key varsKey, o *object) {
	r.variables[key.to] = Variable{JSON: quoted(""), Secret: true, Absent: true}
	r.origins[key.to] = o.origin(key.from)
}
