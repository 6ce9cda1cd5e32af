// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWhichFilesChanged(t *testing.T) {
	index := func(names ...string) *archive.Index {
		x := &archive.Index{}
		for _, name := range names {
			name, content, _ := strings.Cut(name, "=")
			f := archive.IndexedFile{Name: name, Dir: strings.HasSuffix(name, "/")}
			copy(f.Sum[:], content)
			x.Files = append(x.Files, f)
		}
		return x
	}
	list, more := changedIn(index("a/gone", "a/kept", "a/main.tf=1", "b/main.tf=1"), index("a/", "a/kept", "a/main.tf=2", "a/new", "b/main.tf=2"),
		func(name string) bool { return strings.HasPrefix(name, "a/") })
	want := []run.FileChange{{Name: "a/gone", Change: "removed"}, {Name: "a/main.tf", Change: "changed"}, {Name: "a/new", Change: "added"}}
	if diff := cmp.Diff(want, list); diff != "" || more != 0 {
		t.Errorf("%d more, (-want +got):\n%s", more, diff)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("f%02d", i))
	}
	if list, more := changedIn(index(), index(many...), func(string) bool { return true }); len(list) != maxChangedFiles || more != 10 {
		t.Errorf("%d are named, %d are not", len(list), more)
	}
}
