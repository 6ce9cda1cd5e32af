// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

func TestKeysOfModules(t *testing.T) {
	for key, want := range map[string]string{
		"modules/acme/vpc/aws/acme-vpc-aws-1.2.3.tar.gz":               "acme/vpc/aws@1.2.3",
		"modules/a-b/c-d/aws/a-b-c-d-aws-1.2.3-rc.1.tar.gz":            "a-b/c-d/aws@1.2.3-rc.1",
		"modules/a/b-aws/aws/a-b-aws-aws-0.0.1.tar.gz":                 "a/b-aws/aws@0.0.1",
		"modules/acme/vpc/aws/acme-vpc-aws-1.2.tar.gz":                 "",
		"modules/acme/vpc/aws/acme-vpc-aws-v1.2.3.tar.gz":              "",
		"modules/acme/vpc/aws/acme-vpc-aws-1.2.3+build.tar.gz":         "",
		"modules/acme/vpc/aws/acme-vpc-aws-01.2.3.tar.gz":              "",
		"modules/acme/vpc/aws/acme-vpc-awscc-1.2.3.tar.gz":             "",
		"modules/acme/vpc/aws/acme-vpc-aws-1.2.3.zip":                  "",
		"modules/acme/vpc/aws/deeper/acme-vpc-aws-1.2.3.tar.gz":        "",
		"modules/Acme/vpc/aws/Acme-vpc-aws-1.2.3.tar.gz":               "",
		"modules/acme/../aws/acme-..-aws-1.2.3.tar.gz":                 "",
		"providers/acme/vpc/aws/acme-vpc-aws-1.2.3.tar.gz":             "",
		"modules/acme/v\u00fcc/aws/acme-v\u00fcc-aws-1.2.3.tar.gz":     "",
		"modules/" + strings.Repeat("a", 65) + "/b/aws/x-1.0.0.tar.gz": "",
	} {
		v, ok := layout.ModuleOfKey(key)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("%s: %s, %v", key, v, ok)
		}
		if ok && v.Key() != key {
			t.Errorf("%s: its key became %s", key, v.Key())
		}
	}
}

func TestNamesAndVersionsThatAreNoneAreExplained(t *testing.T) {
	const form = "expected at most 64 lower-case letters, digits, - and _, and a letter or digit first and last"
	const numbers = "expected three numbers such as 1.2.0, or a pre-release such as 1.2.0-rc1"
	for text, want := range map[string]string{
		"acme/vpc@1.0.0":                                 `the module "acme/vpc": expected NAMESPACE/NAME/SYSTEM`,
		"acme/vpc/aws/x@1.0.0":                           `the module "acme/vpc/aws/x": expected NAMESPACE/NAME/SYSTEM`,
		"acme/vpc/aws":                                   "expected a version, NAMESPACE/NAME/SYSTEM@1.2.0",
		"Acme/VPC/aws@1.0.0":                             `the namespace "Acme" of a module: ` + form,
		"acme/VPC/aws@1.0.0":                             `the name "VPC" of a module: ` + form,
		"acme/v.pc/aws@1.0.0":                            `the name "v.pc" of a module: ` + form,
		"../vpc/aws@1.0.0":                               `the namespace ".." of a module: ` + form,
		"acme/./aws@1.0.0":                               `the name "." of a module: ` + form,
		"acme/-vpc/aws@1.0.0":                            `the name "-vpc" of a module: ` + form,
		"acme/v\u00fcc/aws@1.0.0":                        `the name "vüc" of a module: ` + form,
		"acme/vp\u0441/aws@1.0.0":                        `the name "vpс" of a module: ` + form, // a Cyrillic letter
		"acme/vpc/AWS@1.0.0":                             `the system "AWS" of a module: expected lower-case letters and digits`,
		"acme/vpc/a-ws@1.0.0":                            `the system "a-ws" of a module`,
		"acme//aws@1.0.0":                                `the name "" of a module: ` + form,
		"acme/vpc/aws@v1.0.0":                            `the version "v1.0.0": ` + numbers,
		"acme/vpc/aws@1.0":                               `the version "1.0": ` + numbers,
		"acme/vpc/aws@01.0.0":                            `the version "01.0.0": ` + numbers,
		"acme/vpc/aws@1.0.0+build":                       `the version "1.0.0+build": ` + numbers,
		"acme/vpc/aws@latest":                            `the version "latest": ` + numbers,
		"acme/vpc/aws@":                                  `the version "": ` + numbers,
		"acme/" + strings.Repeat("a", 65) + "/aws@1.0.0": form,
	} {
		if v, err := layout.ParseModuleVersion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", text, v, err, want)
		}
	}
}

func TestKeysOfProviders(t *testing.T) {
	for key, want := range map[string]string{
		"providers/acme/thing/terraform-provider-thing_1.0.0_linux_amd64.zip":                       "acme/thing@1.0.0 linux_amd64",
		"providers/acme/thing/terraform-provider-thing_1.0.0_SHA256SUMS":                            "acme/thing@1.0.0 _",
		"providers/acme/thing/terraform-provider-thing_1.0.0-beta1_SHA256SUMS.sig":                  "acme/thing@1.0.0-beta1 _",
		"mirror/providers/registry.opentofu.org/hashicorp/aws/terraform-provider-aws_6.0.0_x_y.zip": "registry.opentofu.org/hashicorp/aws@6.0.0 x_y",
		"mirror/providers/localhost:8443/hashicorp/aws/terraform-provider-aws_6.0.0_SHA256SUMS":     "localhost:8443/hashicorp/aws@6.0.0 _",
		"mirror/providers/hashicorp/aws/terraform-provider-aws_6.0.0_x_y.zip":                       "",
		"providers/registry.opentofu.org/hashicorp/aws/terraform-provider-aws_6.0.0_x_y.zip":        "",
		"providers/acme/signing-keys.json":                                                          "",
		"providers/acme/thing/terraform-provider-other_1.0.0_linux_amd64.zip":                       "",
		"providers/acme/thing/terraform-provider-thing_1.0_linux_amd64.zip":                         "",
		"providers/acme/thing/terraform-provider-thing_1.0.0_linux.zip":                             "",
		"providers/acme/thing/terraform-provider-thing_1.0.0_linux_amd64.tar":                       "",
		"providers/acme/thing/terraform-provider-thing_1.0.0_linux_amd64_2.zip":                     "",
	} {
		f, ok := layout.ProviderOfKey(key)
		if ok != (want != "") || ok && f.String()+" "+f.Platform.String() != want {
			t.Errorf("%s: %s %s, %v", key, f, f.Platform, ok)
		}
		if ok && f.Key(f.Name) != key {
			t.Errorf("%s: its key became %s", key, f.Key(f.Name))
		}
	}
}

// FuzzKeys checks that what is parsed has one key, which every bucket accepts.
func FuzzKeys(f *testing.F) {
	f.Add("modules/acme/vpc/aws/acme-vpc-aws-1.2.3.tar.gz")
	f.Add("mirror/providers/localhost:8443/hashicorp/aws/terraform-provider-aws_6.0.0_SHA256SUMS")
	f.Fuzz(func(t *testing.T, key string) {
		if v, ok := layout.ModuleOfKey(key); ok {
			if v.Key() != key || blob.ValidateKey(key) != nil || blob.ValidateKey(v.OwnKey()) != nil {
				t.Errorf("%q: %q", key, v)
			}
		}
		if v, ok := layout.ProviderOfKey(key); ok {
			if v.Key(v.Name) != key || blob.ValidateKey(key) != nil || blob.ValidateKey(v.OwnKey()) != nil {
				t.Errorf("%q: %q", key, v)
			}
		}
	})
}
