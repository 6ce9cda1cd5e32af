// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"
	"regexp"
	"slices"
)

// named are the parts of patterns that name objects, runs and the like.
var named = []string{"namespace", "name", "run", "kind", "system", "verb", "id"}

// objectName matches all names that objects, modules and runs can have.
var objectName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$`)

// nameless reports whether an address names what nothing can be called. Pages write the names of their
// addresses into sentences and commands.
func nameless(r *http.Request) bool {
	return slices.ContainsFunc(named, func(part string) bool {
		name := r.PathValue(part)
		return name != "" && !objectName.MatchString(name)
	})
}
