// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"context"
	"errors"
)

// Codeowners fetches the file CODEOWNERS at a commit or branch: the first one of the forge's paths that exists. Without
// any, the path is empty.
func Codeowners(ctx context.Context, f Forge, ref string) (path string, content []byte, err error) {
	for _, path := range f.Limits().Codeowners {
		content, err := f.File(ctx, path, ref)
		var gone *NotFoundError
		if errors.As(err, &gone) {
			continue
		}
		return path, content, err
	}
	return "", nil, nil
}
