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

// Manifests that Flux takes, and only those, are taken here: the kinds are Flux's own to the letter. Two
// things are added: a GitRepository may be a directory of the machine, and OCIRepositories are also
// served in the version of older manifests.
func TestKindsOfFluxAreAsFluxPublishesThem(t *testing.T) {
	published := fluxtest.Definitions(t)
	const theirs, ours = "pattern: ^(http|https|ssh)://.*$", "pattern: ^(http|https|ssh|file)://.*$"
	repositories := "source.toolkit.fluxcd.io_gitrepositories.yaml"
	if n := strings.Count(string(published[repositories]), theirs); n != 1 {
		t.Fatalf("Flux's GitRepository has the pattern of URLs %d times; look at what it has instead", n)
	}
	published[repositories] = []byte(strings.Replace(string(published[repositories]), theirs, ours, 1))
	tags := "source.toolkit.fluxcd.io_ocirepositories.yaml"
	published[tags] = append(published[tags], olderVersion(string(published[tags]))...)
	compared := 0
	for _, pattern := range []string{"*.toolkit.fluxcd.io_*.yaml", "flux/*.toolkit.fluxcd.io_*.yaml"} {
		files, err := fs.Glob(All, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(file, "flux/")
			if strings.HasPrefix(name, "notification.") || strings.HasPrefix(name, "helm.") || strings.HasPrefix(name, "image.") {
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
	if compared != 7 {
		t.Errorf("%d kinds were compared, want 7", compared)
	}
}

// olderVersion is v1 of a definition once more, as Flux 2.6 served v1beta2.
func olderVersion(definition string) string {
	_, v1, _ := strings.Cut(definition, "\n  versions:\n")
	return strings.NewReplacer("\n    storage: true\n", "\n    storage: false\n", "\n    name: v1\n",
		"\n    deprecated: true\n    deprecationWarning: v1beta2 OCIRepository is deprecated, upgrade to v1\n    name: v1beta2\n").Replace(v1)
}
