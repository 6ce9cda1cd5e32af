// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestAnArchiveIsKnownByItsStore(t *testing.T) {
	name := types.NamespacedName{Namespace: "team", Name: "infra"}
	for sentence, test := range map[string]struct {
		url  string
		want bool
	}{
		"its own":                          {ArchiveURL("https://127.0.0.1:7443", "gitrepositories", name, "sha256:0", "mine"), true},
		"its own, from when it had moved":  {ArchiveURL("https://yuba.old:1", "gitrepositories", name, "sha256:0", "mine"), true},
		"another Yuba's":                   {ArchiveURL("https://127.0.0.1:7443", "gitrepositories", name, "sha256:0", "theirs"), false},
		"one that does not say whose":      {"https://127.0.0.1:7443" + PathPrefix + "/namespaces/team/gitrepositories/infra/archive?digest=sha256:0", false},
		"somebody's with a path like ours": {"https://evil.test/x" + PathPrefix + "/namespaces/team?store=mine", false},
		"somebody's who has read a URL":    {"https://source.test/a.tar.gz?store=mine", false},
		"no URL":                           {"://", false},
	} {
		if got := OwnArchive(test.url, "mine"); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
