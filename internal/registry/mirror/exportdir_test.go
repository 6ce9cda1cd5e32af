// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"io"
	"testing"
)

func TestExportsInRelativeDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Export(t.Context(), nil, nil, Options{}, ".", io.Discard, func(Carried) {}); err != nil {
		t.Error(err)
	}
}
