// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Content are the facts about a source's artifact and its upstream.
type Content struct {
	// Stored is the revision of the artifact; empty for none. Present is false if its archive is
	// missing from the store or damaged.
	Stored  string
	Present bool
	// Upstream is the revision of the upstream.
	Upstream string
	// ConfigurationChanged is true if the object's spec now selects other content of a revision.
	ConfigurationChanged bool
	// IncludesChanged is true if included artifacts have changed.
	IncludesChanged bool
}

// Fetch says why the content must be fetched; empty if the artifact is current. The first reason
// counts.
func Fetch(c Content) string {
	switch {
	case c.Stored == "":
		return "there is no artifact"
	case c.Stored != c.Upstream:
		return "new upstream revision"
	case c.ConfigurationChanged:
		return "the object's spec selects other content"
	case c.IncludesChanged:
		return "included artifacts differ"
	// Last: a damaged archive of an old revision is simply replaced.
	case !c.Present:
		return "the stored archive is missing or damaged"
	}
	return ""
}
