// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Content are the facts about a source's artifact and what its upstream has.
type Content struct {
	// Stored is the revision of the artifact, empty when the source has none; Present is false when the archive is not in
	// the store, or not what its digest promises.
	Stored  string
	Present bool
	// Upstream is the revision that the upstream has.
	Upstream string
	// ConfigurationChanged is true when the object asks for other content of a revision than when the artifact was made.
	ConfigurationChanged bool
	// IncludesChanged is true when artifacts that are copied into the tree are others now.
	IncludesChanged bool
}

// Fetch says why the content must be fetched; empty when the artifact is what it should be. The first reason wins.
func Fetch(c Content) string {
	switch {
	case c.Stored == "":
		return "there is no artifact"
	case c.Stored != c.Upstream:
		return "new upstream revision"
	case c.ConfigurationChanged:
		return "the object asks for other content"
	case c.IncludesChanged:
		return "included artifacts differ"
	// Last, so that a damaged archive of an old revision is not told as damage but replaced.
	case !c.Present:
		return "the stored archive is missing or damaged"
	}
	return ""
}
