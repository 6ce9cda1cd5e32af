// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// webFlow is the committer of what people merge on GitHub's pages. It is not a person.
const webFlow = "noreply@github.com"

// authors are the e-mail addresses of a commit's author and committer. It does not fetch: authors
// are not worth failing for, and who needs them takes a missing one as unknown.
func (m *mirror) authors(ctx context.Context, t target) (all []string) {
	content := m.fetched(ctx, t)
	for _, field := range []string{"author", "committer"} {
		if address := email(header(content, field)); address != "" && address != webFlow && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all
}

// parent is the only parent of a commit, in the same way; empty if it has several.
func (m *mirror) parent(ctx context.Context, t target) (parent string) {
	for line := range bytes.Lines(m.fetched(ctx, t)) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if hash, is := strings.CutPrefix(text, "parent "); is {
			if parent != "" {
				return ""
			}
			parent = hash
		}
	}
	return parent
}

// fetched is the text of a commit; empty if it is not here.
func (m *mirror) fetched(ctx context.Context, t target) (content []byte) {
	_, local := m.remote.(*localRemote)
	for _, s := range []*store{m.store(true), m.store(false)} {
		m.mu.Lock()
		has := local || s.has(t.want)
		m.mu.Unlock()
		if !has {
			continue
		}
		err := m.read(ctx, s, func(o *objects) (err error) {
			_, content, err = o.read(t.commit, maxText)
			content = bytes.Clone(content)
			return err
		})
		if err == nil {
			return content
		}
	}
	return nil
}

// email is the address in "NAME <ADDRESS> TIME ZONE". A comma would look like two addresses.
func email(person string) string {
	_, rest, _ := strings.Cut(person, "<")
	address, _, ended := strings.Cut(rest, ">")
	if address = strings.TrimSpace(address); !ended || strings.ContainsAny(address, ", \t") {
		return ""
	}
	return address
}
