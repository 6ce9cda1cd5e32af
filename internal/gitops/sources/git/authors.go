// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"slices"
	"strings"
)

// webFlow is the committer of what people merge on GitHub's pages. It is not a person.
const webFlow = "noreply@github.com"

// authors are the e-mail addresses of a commit's author and committer. It does not fetch: authors
// are not worth failing for, and who needs them takes a missing one as unknown.
func (m *mirror) authors(ctx context.Context, t target) (all []string) {
	_, local := m.remote.(*localRemote)
	for _, s := range []*store{m.store(true), m.store(false)} {
		m.mu.Lock()
		has := local || s.has(t.want)
		m.mu.Unlock()
		if !has {
			continue
		}
		err := m.read(ctx, s, func(o *objects) error {
			_, content, err := o.read(t.commit, maxText)
			for _, field := range []string{"author", "committer"} {
				if address := email(header(content, field)); err == nil && address != "" && address != webFlow && !slices.Contains(all, address) {
					all = append(all, address)
				}
			}
			return err
		})
		if err == nil {
			return all
		}
		all = nil
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
