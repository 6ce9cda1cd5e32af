// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestOpen(t *testing.T) {
	for address, want := range map[string]forge.Kind{
		"https://github.com/acme/infra":                     forge.GitHub,
		"git@github.com:acme/infra.git":                     forge.GitHub,
		"https://gitlab.com/acme/platform/infra.git":        forge.GitLab,
		"ssh://git@bitbucket.org/acme/infra.git":            forge.Bitbucket,
		"https://me@dev.azure.com/acme/My%20Team/_git/in-f": forge.AzureDevOps,
		"git@ssh.dev.azure.com:v3/acme/team/infra":          forge.AzureDevOps,
		"https://acme.visualstudio.com/team/_git/infra":     forge.AzureDevOps,
		"https://codeberg.org/acme/infra":                   forge.Gitea,
	} {
		f, err := Open(forge.Config{Repository: address})
		if err != nil || f.Kind() != want {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	for _, address := range []string{"https://git.example.com/acme/infra", "", "https://github.com/acme"} {
		if _, err := Open(forge.Config{Repository: address}); err == nil {
			t.Errorf("%q has a kind", address)
		}
	}
	for kind := range openers {
		if _, err := Open(forge.Config{Kind: kind, Repository: "not an address"}); err == nil {
			t.Errorf("%s opens what is not an address", kind)
		}
	}
}
