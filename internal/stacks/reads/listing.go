// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"encoding/hex"
	"path"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Listing returns a digest of content and mode for each file of an archive, by path, and its
// configuration files by directory. The archive is in the store. A link to a file that is no configuration has a
// digest only.
func (s *Sources) Listing(ctx context.Context, digest string) (sums map[string]string, config func(dir string) map[string][]byte, err error) {
	t, err := s.tree(ctx, digest)
	if err != nil {
		return nil, nil, err
	}
	if t.index == nil {
		return nil, nil, &SourceError{Message: t.why}
	}
	x := t.index
	sums = make(map[string]string, len(x.Files))
	for i := range x.Files {
		f := &x.Files[i]
		if f.Dir {
			continue
		}
		sum := hex.EncodeToString(f.Sum[:])
		if f.Executable {
			sum += " x"
		}
		if f.Link != "" {
			sum = "link " + f.Link
		}
		sums[f.Name] = sum
	}
	return sums, func(dir string) map[string][]byte {
		if dir == "" {
			dir = "."
		}
		files := map[string][]byte{}
		for _, f := range x.Below(dir) {
			if path.Dir(f.Name) != dir || !module.IsConfigFile(f.Name) {
				continue
			}
			if content, found := x.Content(f.Name); found {
				files[path.Base(f.Name)] = content
			}
		}
		return files
	}, nil
}
