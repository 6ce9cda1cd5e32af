// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
)

// Access is what a provider or a backend needs of the person who runs it: variables of the environment,
// some of which end with "*", and files relative to the home directory.
type Access struct {
	Variables []string `json:"variables"`
	Files     []string `json:"files,omitempty"`
}

// Accesses of clouds and services.
var (
	aws        = Access{[]string{"AWS_*"}, []string{".aws"}}
	google     = Access{[]string{"GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*"}, []string{".config/gcloud"}}
	azure      = Access{[]string{"ARM_*", "AZURE_*"}, []string{".azure"}}
	kubernetes = Access{[]string{"KUBE_*", "KUBECONFIG", "KUBERNETES_*"}, []string{".kube/config"}}
	github     = Access{[]string{"GITHUB_*", "GH_*"}, nil}
)

// ofProviders are what well-known providers read, by NAMESPACE/NAME in the public registries. The name alone
// says nothing: anybody can publish a provider "aws".
var ofProviders = map[string]Access{
	"hashicorp/aws": aws, "hashicorp/awscc": aws, "opentofu/aws": aws,
	"hashicorp/google": google, "hashicorp/google-beta": google, "opentofu/google": google, "opentofu/google-beta": google,
	"hashicorp/azurerm": azure, "hashicorp/azuread": azure, "azure/azapi": azure, "opentofu/azurerm": azure, "opentofu/azuread": azure,
	"hashicorp/kubernetes": kubernetes, "hashicorp/helm": kubernetes, "opentofu/kubernetes": kubernetes, "opentofu/helm": kubernetes,
	"integrations/github": github, "hashicorp/github": github,
}

// ofBackends are what the backends read. They are parts of tofu.
var ofBackends = map[string]Access{
	"s3": aws, "gcs": google, "azurerm": azure, "kubernetes": kubernetes,
	"pg": {[]string{"PG*"}, []string{".pgpass"}}, "http": {[]string{"TF_HTTP_*"}, nil}, "consul": {[]string{"CONSUL_*"}, nil},
	"oss": {[]string{"ALICLOUD_*", "ALIBABA_CLOUD_*"}, nil}, "cos": {[]string{"TENCENTCLOUD_*"}, nil},
}

// registries are the public ones. Both have the same namespaces.
var registries = []string{"registry.opentofu.org/", "registry.terraform.io/"}

// AccessOf is what a program with these providers (their sources) and this kind of backend needs. Providers
// that are not listed get nothing.
func AccessOf(providers []string, backend string) (a Access) {
	for _, source := range providers {
		a.add(ofProviders[address(source)])
	}
	a.add(ofBackends[backend])
	slices.Sort(a.Variables)
	slices.Sort(a.Files)
	a.Variables, a.Files = slices.Compact(a.Variables), slices.Compact(a.Files)
	return a
}

func (a *Access) add(needs Access) {
	a.Variables, a.Files = append(a.Variables, needs.Variables...), append(a.Files, needs.Files...)
}

// address is the source of a provider without a public registry's host. Sources are case-insensitive.
func address(source string) string {
	source = strings.ToLower(source)
	for _, host := range registries {
		source = strings.TrimPrefix(source, host)
	}
	return source
}

// tools are providers that need nothing of the person.
var tools = []string{"archive", "cloudinit", "external", "http", "local", "null", "random", "template", "time", "tls"}

// Unlisted are the providers that get nothing, and may need something.
func Unlisted(providers []string) (list []string) {
	for _, source := range providers {
		name := address(source)
		_, listed := ofProviders[name]
		tool, official := strings.CutPrefix(name, "hashicorp/")
		if !listed && (!official || !slices.Contains(tools, tool)) {
			list = append(list, source)
		}
	}
	slices.Sort(list)
	return list
}
