// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

func TestOf(t *testing.T) {
	const none, ofModules, ofProviders, full = "none", "modules", "providers", "providers, disk full"
	const install = "Failed to install provider"
	for sentence, c := range map[string]struct {
		summary, detail, want string
	}{
		"a provider that the mirror does not have": {"Failed to query available provider packages", "Could not retrieve the list", ofProviders},
		"a version that no release has":            {"Failed to resolve provider packages", "Could not resolve provider a/b", ofProviders},
		"a provider for another platform":          {"Incompatible provider version", "Provider a/b v1.0.0 does not have a package", ofProviders},
		"a host without providers":                 {"Invalid provider registry host", "The host \"a.b\" does not offer", ofProviders},
		"a package with another hash":              {install, "Error while installing a/b v1.0.0: the local package does not match", ofProviders},
		"an error without a diagnostic of its own": {"some providers could not be installed:\n- a/b: no", "", ofProviders},
		"a full disk":                                   {install, "Error while installing a/b v1.0.0: write /tmp/x: no space left on device", full},
		"a full disk, as a sentence":                    {install + " from shared cache", "Error while importing a/b: open /c: no space left on device.", full},
		"an exceeded quota":                             {install, "Error while installing a/b v1.0.0: write /tmp/x: disk quota exceeded", full},
		"a provider that quotes a full disk":            {"Invalid value", "write /tmp/x: no space left on device", none},
		"a registry that quotes a full disk":            {install, "Error while installing a/b v1.0.0: \"no space left on device\": 507", ofProviders},
		"a backend's credential provider":               {"Error configuring S3 Backend", "no valid credential provider found", none},
		"a module that is called provider-x":            {"Unreadable module directory", "The directory ./provider-x could not be read", none},
		"a key provider of the encryption":              {"Unable to fetch encryption key data", "key_provider.static.a failed with error", none},
		"a program that declares a provider twice":      {"Duplicate provider configuration", "A default provider configuration for \"a\"", none},
		"a module that is missing":                      {"Module not installed", "This module is not yet installed.", ofModules},
		"a module from elsewhere":                       {"Module source has changed", "The source address was changed", ofModules},
		"another version of a module":                   {"Module version requirements have changed", "The version requirements have changed", ofModules},
		"a summary that only begins like a known one":   {"Module not installed by provider", "", none},
		"a detail that has the summary of another case": {"Unsupported block type", "Module not installed", none},
	} {
		t.Run(sentence, func(t *testing.T) {
			said := diagnostic.List{{Severity: diagnostic.Error, Summary: c.summary, Detail: c.detail}}
			got := none
			switch {
			case OfModules(said):
				got = ofModules
			case OfProviders(said) && DiskFull(said):
				got = full
			case OfProviders(said):
				got = ofProviders
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			said[0].Severity = diagnostic.Warning
			if OfModules(said) || OfProviders(said) || DiskFull(said) {
				t.Error("a warning decides")
			}
		})
	}
}

// Output of tofu 1.12 init -no-color, and of a terminal.
func TestPrinted(t *testing.T) {
	const plain = `
Initializing the backend...

Initializing provider plugins...
- Finding latest version of acme/nothing...

Warning: Additional provider information from registry

The remote registry returned warnings for acme/nothing:
- Error-prone

Error: Failed to install provider

Error while installing acme/nothing v1.0.0: write
/tmp/terraform-provider1: no space left on
device

Error: Module not installed

  on main.tf line 1:
   1: module "m" {
`
	want := diagnostic.List{
		{Severity: diagnostic.Error, Summary: "Failed to install provider", Detail: "Error while installing acme/nothing v1.0.0: write /tmp/terraform-provider1: no space left on device"},
		{Severity: diagnostic.Error, Summary: "Module not installed", Detail: "on main.tf line 1: 1: module \"m\" {"},
	}
	got := Printed(strings.Split(plain, "\n"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !DiskFull(got) || !OfModules(got) {
		t.Errorf("DiskFull = %v, OfModules = %v", DiskFull(got), OfModules(got))
	}
	framed := []string{"╷", "│ Error: Incompatible provider version", "│ ", "│ Provider a/b v1.0.0 does not have a package", "╵"}
	want = diagnostic.List{{Severity: diagnostic.Error, Summary: "Incompatible provider version", Detail: "Provider a/b v1.0.0 does not have a package"}}
	if diff := cmp.Diff(want, Printed(framed)); diff != "" {
		t.Error(diff)
	}
	if got := Printed([]string{"Terraform has been successfully initialized!", "the provider said Error: no"}); got != nil {
		t.Errorf("%v", got)
	}
}
