// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"testing"
)

func TestReadingModulesEndsWithItsContext(t *testing.T) {
	for _, dir := range []string{"modules", "examples"} {
		files := newTree()
		files.put("main.tf", []byte(`variable "a" {}`))
		files.put(dir+"/one/main.tf", []byte(`variable "a" {}`))
		gone := errors.New("the client went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := (&survey{tree: files, readmes: maxReadmes}).module(ctx, &Module{}); !errors.Is(err, gone) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
