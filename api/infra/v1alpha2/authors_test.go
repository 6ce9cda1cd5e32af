// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
)

// follow makes an artifact of each "REVISION AUTHORS". "gap" forgets the ones before.
func follow(revisions ...string) *meta.Artifact {
	var last *meta.Artifact
	for _, text := range revisions {
		if text == "gap" {
			last = nil
			continue
		}
		revision, authors, _ := strings.Cut(text, " ")
		next := &meta.Artifact{Revision: revision, Metadata: map[string]string{ArtifactAuthors: authors}}
		if last != nil {
			next.Metadata[ArtifactEarlier] = EarlierAuthors(last)
		}
		last = next
	}
	return last
}

func TestAuthorsSinceARevision(t *testing.T) {
	for sentence, c := range map[string]struct {
		artifact *meta.Artifact
		since    string
		authors  []string
		complete bool
	}{
		"the same revision":                 {follow("1 ann", "2 bob"), "2", []string{"bob"}, true},
		"the one before":                    {follow("1 ann", "2 bob"), "1", []string{"bob"}, true},
		"a change, and a typo fix after it": {follow("0 eve", "1 ann", "2 bob"), "0", []string{"ann", "bob"}, true},
		"several authors":                   {follow("0 eve", "1 ann,cat", "2 ann"), "0", []string{"ann", "cat"}, true},
		"after a gap":                       {follow("0 eve", "1 ann", "gap", "2 bob"), "0", []string{"bob"}, false},
		"nobody knows an author between":    {follow("0 eve", "1", "2 bob"), "0", []string{"bob"}, false},
		"nobody knows the last author":      {follow("0 eve", "1 ann", "2"), "0", []string{"ann"}, false},
		"another branch":                    {follow("1 ann", "2 bob"), "other", []string{"ann", "bob"}, false},
		"no revision":                       {follow("1 ann"), "", []string{"ann"}, false},
		"what cannot be read": {&meta.Artifact{Revision: "2", Metadata: map[string]string{ArtifactAuthors: "bob", ArtifactEarlier: "{"}},
			"1", []string{"bob"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if authors, complete := AuthorsSince(c.artifact, c.since); !slices.Equal(authors, c.authors) || complete != c.complete {
				t.Errorf("%q, complete: %t", authors, complete)
			}
		})
	}
}

func TestEarlierAuthorsAreLimited(t *testing.T) {
	var many, long []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("%d ann", i))
		long = append(long, fmt.Sprintf("%d %s", i, strings.Repeat("a", 1000)))
	}
	for what, a := range map[string]*meta.Artifact{"many": follow(many...), "long": follow(long...), "too long": follow("1 "+strings.Repeat("a", 20_000), "2 bob")} {
		if n := len(a.Metadata[ArtifactEarlier]); n > maxEarlierBytes {
			t.Errorf("%s: %d bytes", what, n)
		}
		if _, complete := AuthorsSince(a, "0"); complete {
			t.Errorf("%s: the first revision is known", what)
		}
	}
	if _, complete := AuthorsSince(follow(many...), "150"); !complete {
		t.Error("the last 50 are not known")
	}
}
