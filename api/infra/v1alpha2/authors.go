// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
)

// ArtifactEarlier is a key in the metadata of an artifact: the revisions that directly precede it
// without a gap, the newest first, with their authors. Only servers of sources write it.
const ArtifactEarlier = "yuba.dev/earlier-authors"

const (
	// maxEarlier limits the revisions in an artifact's metadata, maxEarlierBytes their text.
	maxEarlier      = 50
	maxEarlierBytes = 8 << 10
)

// earlierRevision is a revision that precedes another one.
type earlierRevision struct {
	Revision string `json:"revision"`
	// Authors are as in ArtifactAuthors; empty if they are not known.
	Authors string `json:"authors,omitempty"`
}

// EarlierAuthors is ArtifactEarlier of the revision that directly follows the artifact's.
func EarlierAuthors(previous *meta.Artifact) string {
	chain := append([]earlierRevision{{previous.Revision, previous.Metadata[ArtifactAuthors]}}, earlierOf(previous)...)
	for chain = chain[:min(len(chain), maxEarlier)]; ; chain = chain[:len(chain)-1] {
		if text, err := json.Marshal(chain); err == nil && len(text) <= maxEarlierBytes || len(chain) == 0 {
			return string(text)
		}
	}
}

func earlierOf(a *meta.Artifact) (chain []earlierRevision) {
	if json.Unmarshal([]byte(a.Metadata[ArtifactEarlier]), &chain) != nil {
		return nil
	}
	return chain
}

// AuthorsSince returns the authors of an artifact's revision, and of those between another one and it.
// It is complete unless an author is not known, or a revision between them.
func AuthorsSince(a *meta.Artifact, since string) (authors []string, complete bool) {
	complete = true
	add := func(names string) {
		known := false
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name != "" {
				authors, known = append(authors, name), true
			}
		}
		complete = complete && known
	}
	add(a.Metadata[ArtifactAuthors])
	if a.Revision == since {
		return authors, complete
	}
	for _, earlier := range earlierOf(a) {
		if earlier.Revision == since {
			slices.Sort(authors)
			return slices.Compact(authors), complete
		}
		add(earlier.Authors)
	}
	slices.Sort(authors)
	return slices.Compact(authors), false
}
