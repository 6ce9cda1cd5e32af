// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"context"
	"errors"
	"fmt"
)

// Codeowners fetches the file CODEOWNERS at a commit or branch: the first one of the forge's paths that exists. Without
// any, the path is empty. All paths are asked for at once: most repositories have none of them.
func Codeowners(ctx context.Context, f Forge, ref string) (path string, content []byte, err error) {
	type answer struct {
		content []byte
		err     error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	paths := f.Limits().Codeowners
	answers := make([]chan answer, len(paths))
	for i, path := range paths {
		answers[i] = make(chan answer, 1)
		go func() {
			var a answer
			defer func() {
				if problem := recover(); problem != nil { // nothing else would, and it would end the server
					a.err = fmt.Errorf("read %s: panic: %v. This is a bug in Yuba", path, problem)
				}
				answers[i] <- a
			}()
			a.content, a.err = f.File(ctx, path, ref)
		}()
	}
	for i, path := range paths {
		a := <-answers[i]
		var gone *NotFoundError
		if errors.As(a.err, &gone) {
			continue
		}
		return path, a.content, a.err
	}
	return "", nil, nil
}
