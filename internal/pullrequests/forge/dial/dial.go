// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/azure"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/bitbucket"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/github"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge/gitlab"
)

var openers = map[forge.Kind]func(forge.Config) (forge.Forge, error){
	forge.Gitea: github.OpenGitea, forge.GitHub: github.Open, forge.GitLab: gitlab.Open,
	forge.Bitbucket: bitbucket.Open, forge.BitbucketServer: bitbucket.OpenServer, forge.AzureDevOps: azure.Open,
}

// Open opens a connection. It asks the forge nothing.
func Open(c forge.Config) (forge.Forge, error) {
	if c.Kind == "" {
		c.Kind = Guess(c.Repository)
	}
	open := openers[c.Kind]
	if open == nil {
		return nil, fmt.Errorf("the kind of forge %q is not known: it is one of gitea, github, gitlab, bitbucket, bitbucketserver and azuredevops", c.Kind)
	}
	return open(c)
}

// Guess returns the kind of the forges that everybody uses, by the address of a repository; empty for others.
func Guess(repository string) forge.Kind {
	address, err := forge.ParseAddress(repository)
	if err != nil {
		return ""
	}
	switch host := strings.ToLower(address.Host()); {
	case host == "github.com":
		return forge.GitHub
	case host == "gitlab.com":
		return forge.GitLab
	case host == "bitbucket.org":
		return forge.Bitbucket
	case host == "dev.azure.com", host == "ssh.dev.azure.com", strings.HasSuffix(host, ".visualstudio.com"):
		return forge.AzureDevOps
	case host == "gitea.com", host == "codeberg.org":
		return forge.Gitea
	}
	return ""
}
