// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/fluxtest"
)

// Manifests that Flux takes, and only those, are taken here: the kinds are Flux's own to the letter. One thing is added: a
// GitRepository may be a directory of the machine.
func TestKindsOfFluxAreAsFluxPublishesThem(t *testing.T) {
	published := fluxtest.Definitions(t)
	const theirs, ours = "pattern: ^(http|https|ssh)://.*$", "pattern: ^(http|https|ssh|file)://.*$"
	repositories := "source.toolkit.fluxcd.io_gitrepositories.yaml"
	if n := strings.Count(string(published[repositories]), theirs); n != 1 {
		t.Fatalf("Flux's GitRepository has the pattern of URLs %d times; look at what it has instead", n)
	}
	published[repositories] = []byte(strings.Replace(string(published[repositories]), theirs, ours, 1))
	compared := 0
	for _, pattern := range []string{"*.toolkit.fluxcd.io_*.yaml", "flux/*.toolkit.fluxcd.io_*.yaml"} {
		files, err := fs.Glob(All, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(file, "flux/")
			if strings.HasPrefix(name, "notification.") {
				continue // nothing is published to compare them with
			}
			definition, err := fs.ReadFile(All, file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(published[name]), string(definition)); diff != "" {
				t.Errorf("%s (-Flux +Yuba):\n%s", name, diff)
			}
			compared++
		}
	}
	if compared != 5 {
		t.Errorf("%d kinds were compared, want 5", compared)
	}
}
