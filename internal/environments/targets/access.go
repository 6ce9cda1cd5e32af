// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"path"
	"slices"
	"strings"
)

// Access is what a provider or a backend needs of the person who runs it: variables of the environment,
// some of which end with "*", and files relative to the home directory.
type Access struct {
	Variables []string `json:"variables"`
	Files     []string `json:"files,omitempty"`
}

// accesses are what the well-known providers and backends read, by the last part of their name.
var accesses = map[string]Access{
	"aws":        {[]string{"AWS_*"}, []string{".aws"}},
	"google":     {[]string{"GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*"}, []string{".config/gcloud"}},
	"azurerm":    {[]string{"ARM_*", "AZURE_*"}, []string{".azure"}},
	"kubernetes": {[]string{"KUBE_*", "KUBECONFIG", "KUBERNETES_*"}, []string{".kube/config"}},
	"pg":         {[]string{"PG*"}, []string{".pgpass"}},
	"http":       {[]string{"TF_HTTP_*"}, nil},
	"github":     {[]string{"GITHUB_*", "GH_*"}, nil},
}

// aliases are names with the access of others.
var aliases = map[string]string{"google-beta": "google", "s3": "aws", "gcs": "google", "helm": "kubernetes", "kubectl": "kubernetes", "azuread": "azurerm", "azapi": "azurerm"}

// AccessOf is what a program with these providers (their sources) and this kind of backend needs. Others
// get the variables that begin with their name: a provider "acme" reads ACME_TOKEN.
func AccessOf(providers []string, backend string) (a Access) {
	names := []string{}
	for _, source := range providers {
		names = append(names, path.Base(source))
	}
	if backend != "" && backend != "local" && backend != "cloud" && backend != "remote" {
		names = append(names, backend)
	}
	for _, name := range names {
		if same, ok := aliases[name]; ok {
			name = same
		}
		needs, ok := accesses[name]
		if !ok {
			needs.Variables = []string{strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_*"}
		}
		a.Variables, a.Files = append(a.Variables, needs.Variables...), append(a.Files, needs.Files...)
	}
	slices.Sort(a.Variables)
	slices.Sort(a.Files)
	a.Variables, a.Files = slices.Compact(a.Variables), slices.Compact(a.Files)
	return a
}
