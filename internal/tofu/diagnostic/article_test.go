// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagnostic

import "testing"

func TestArticles(t *testing.T) {
	for noun, want := range map[string]string{
		"Alert": "an Alert", "OCIRepository": "an OCIRepository", "ExternalArtifact": "an ExternalArtifact", "HTTPRoute": "an HTTPRoute",
		"INI": "an INI", "int64": "an int64", "object": "an object", "Upgrade": "an Upgrade", "Éclair": "a Éclair",
		"Kustomization": "a Kustomization", "GitRepository": "a GitRepository", "JSON": "a JSON", "YAML": "a YAML", "URL": "a URL", "UserPool": "a UserPool",
		"uint64": "a uint64", "Unit": "a Unit", "Terraform": "a Terraform", "": "a ", "Eureka": "a Eureka", "Helm": "a Helm", "S": "a S",
	} {
		if got := WithArticle(noun); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
