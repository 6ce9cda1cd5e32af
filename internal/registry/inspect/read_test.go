// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// pack makes an archive of pairs of names and contents. A name "TYPE:NAME" is an entry of that type,
// whose content is its target.
func pack(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for i := 0; i < len(pairs); i += 2 {
		header := &tar.Header{Name: pairs[i], Mode: 0o644, Size: int64(len(pairs[i+1])), Typeflag: tar.TypeReg}
		if kind, name, ok := strings.Cut(pairs[i], ":"); ok {
			header.Name, header.Typeflag, header.Linkname, header.Size = name, kind[0], pairs[i+1], 0
		}
		if header.Typeflag == tar.TypeXGlobalHeader { // as git archive writes it
			header = &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: header.Name, PAXRecords: map[string]string{"comment": "c0ffee"}}
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := w.Write([]byte(pairs[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readArchive(t testing.TB, pairs ...string) (*inspect.Module, error) {
	t.Helper()
	return inspect.Read(t.Context(), bytes.NewReader(pack(t, pairs...)), inspect.DefaultLimits)
}

func TestRead(t *testing.T) {
	m, err := readArchive(t,
		"main.tf", `terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}
variable "cidr" {
  description = "The range."
  type        = string
  default     = "10.0.0.0/16"
}
resource "random_id" "x" {}
module "subnet" { source = "./modules/subnet" }
output "id" {
  description = "The VPC."
  value       = 1
}
`, "README.md", "# VPC\n", "modules/subnet/main.tf", `variable "n" { type = number }`,
		"examples/small/main.tf", `module "vpc" { source = "../.." }`, "LICENSE", "free", "prod.tfvars", "password = 1")
	if err != nil {
		t.Fatal(err)
	}
	want := &inspect.Module{
		Files: 6, Unpacked: m.Unpacked,
		Interface: inspect.Interface{
			Inputs:  []inspect.Input{{Name: "cidr", Description: "The range.", Type: "string", Cty: []byte(`"string"`), Optional: true, Default: []byte(`"10.0.0.0/16"`), Nullable: true, Pos: module.Position{File: "main.tf", Line: 10}}},
			Outputs: []inspect.Output{{Name: "id", Description: "The VPC.", Pos: module.Position{File: "main.tf", Line: 17}}},
			Providers: []inspect.Provider{
				{Source: "hashicorp/aws", Name: "aws", Versions: []string{"~> 6.0"}},
				{Source: "hashicorp/random"},
			},
			Tool:     []string{">= 1.6"},
			Calls:    []inspect.Call{{Name: "subnet", Source: "./modules/subnet", Pos: module.Position{File: "main.tf", Line: 16}}},
			Readme:   "# VPC\n",
			Warnings: []string{"the archive contains values of variables (prod.tfvars), which tofu does not read in a called module, and which may be secret; name them in .terraformignore"},
		},
		Submodules: []inspect.Part{{Path: "modules/subnet", Interface: inspect.Interface{
			Inputs: []inspect.Input{{Name: "n", Type: "number", Cty: []byte(`"number"`), Nullable: true, Pos: module.Position{File: "modules/subnet/main.tf", Line: 1}}},
		}}},
		Examples: []inspect.Part{{Path: "examples/small", Interface: inspect.Interface{
			Providers: m.Examples[0].Providers,
			Calls:     []inspect.Call{{Name: "vpc", Source: "../..", Pos: module.Position{File: "examples/small/main.tf", Line: 1}}},
		}}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	bomb := strings.Repeat("\x00", 64<<20)
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"no archive":                 {[]byte("<html>"), "the archive cannot be read: not a valid gzipped tar archive"},
		"nothing":                    {nil, "the archive cannot be read"},
		"an end in the middle":       {pack(t, "main.tf", strings.Repeat("# a\n", 1000))[:40], "the archive cannot be read"},
		"a path that leaves":         {pack(t, "main.tf", "", "../x.tf", ""), `entry "../x.tf": the path leaves the directory`},
		"an absolute path":           {pack(t, "/etc/main.tf", ""), `entry "/etc/main.tf": the path is absolute`},
		"a link":                     {pack(t, "main.tf", "", "2:other.tf", "main.tf"), `entry "other.tf": links are not accepted in modules`},
		"a hard link":                {pack(t, "main.tf", "", "1:other.tf", "main.tf"), `hard links are not accepted`},
		"a device":                   {pack(t, "main.tf", "", "3:null", ""), `devices and pipes are not accepted`},
		"a bomb":                     {pack(t, "main.tf", "", "zeros", bomb), `the expansion of the archive exceeds the limit of 200`},
		"a file twice":               {pack(t, "main.tf", "", "main.tf", ""), `the archive contains it twice`},
		"nothing at the root":        {pack(t, "README.md", "x", "a/b/main.tf", ""), "the archive's root has no configuration files (it has README.md, a/)"},
		"two roots":                  {pack(t, "a/main.tf", "", "b/main.tf", ""), "several modules side by side (a/, b/)"},
		"only values":                {pack(t, "terraform.tfvars", "a = 1"), "no configuration files"},
		"a directory with a meaning": {pack(t, "examples/main.tf", ""), "whose name has a meaning"},
		"an empty archive":           {pack(t), "the archive is empty"},
		"invalid configuration":      {pack(t, "main.tf", "variable \"a\" {\n  type = strin\n}\n"), "main.tf:2:10: Invalid type specification"},
		"an invalid submodule":       {pack(t, "main.tf", "", "modules/a/x.tf", "\noutput {\n"), "modules/a/x.tf:2:8: Unclosed configuration block"},
		"a call out of the archive":  {pack(t, "main.tf", `module "a" { source = "../other" }`), `main.tf:1:1: Missing module: The source "../other" of the module "a" leads out of the module`},
		"a call of a missing module": {pack(t, "main.tf", `module "a" { source = "./other" }`), `leads to other, which has no configuration files in the archive`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inspect.Read(t.Context(), bytes.NewReader(c.archive), inspect.DefaultLimits)
			var refused *inspect.Error
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	_, err := inspect.Read(t.Context(), bytes.NewReader(pack(t, "main.tf", "", "a", "", "b", "")), archive.Limits{MaxEntries: 2})
	if err == nil || !strings.Contains(err.Error(), "the number of entries exceeds the limit of 2") {
		t.Error(err)
	}
}

func TestReadStripsTheDirectoryOfGitHosts(t *testing.T) {
	m, err := readArchive(t, "g:pax_global_header", "", "vpc-1.2.0/main.tf", `module "a" { source = "./modules/a" }`, "vpc-1.2.0/modules/a/main.tf", "", "vpc-1.2.0/README", "hello")
	if err != nil {
		t.Fatal(err)
	}
	if m.Stripped != "vpc-1.2.0" || len(m.Submodules) != 1 || m.Submodules[0].Path != "modules/a" || m.Readme != "hello" {
		t.Errorf("%+v", m)
	}
}

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": `variable "a" {}`, ".terraform/modules/x.tf": "{{{", "terraform.tfstate": "{}", "skipped/x.tf": "{{{", ".terraformignore": "skipped\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := inspect.ReadDir(t.Context(), dir)
	if err != nil || len(m.Inputs) != 1 || m.Files != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := inspect.ReadDir(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestReadLimitsConfigurationButNotReadmes(t *testing.T) {
	text := strings.Repeat("# x\n", 1<<18)
	var pairs []string
	for i := range 5 {
		pairs = append(pairs, fmt.Sprintf("modules/m%d/main.tf", i), "", fmt.Sprintf("modules/m%d/README.md", i), text)
	}
	m, err := readArchive(t, append(pairs, "main.tf", "", "README.md", text)...)
	if err != nil || len(m.Readme) != 256<<10 {
		t.Errorf("%v", err)
	}
	for i := range 5 {
		pairs = append(pairs, fmt.Sprintf("modules/m%d/more.tf", i), text)
	}
	_, err = readArchive(t, append(pairs, "main.tf", "")...)
	if err == nil || !strings.Contains(err.Error(), "the size of all configuration files in bytes exceeds the limit of 4194304") {
		t.Error(err)
	}
}

// FuzzRead checks that no archive stops the reader, and that what it accepts equals itself.
func FuzzRead(f *testing.F) {
	f.Add(pack(f, "main.tf", `variable "a" { type = list(string) }`))
	f.Add(pack(f, "a/main.tf", `module "x" { source = "./y" }`, "2:a/y", "z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := inspect.Read(t.Context(), bytes.NewReader(data), archive.Limits{MaxPacked: 1 << 20, MaxUnpacked: 8 << 20, MaxEntries: 100})
		if err == nil && len(inspect.Compare(m, m)) > 0 {
			t.Error("it differs from itself")
		}
	})
}

// FuzzConfiguration is FuzzRead for the bytes of one file.
func FuzzConfiguration(f *testing.F) {
	for _, text := range []string{`variable "a" { type = object({ a = optional(string, "x") }) }`, "terraform {\n  required_providers {\n    a = { source = \"b/c\", configuration_aliases = [a.b] }\n  }\n}", `output "x" { value = [for a in b : a] }`, `module "m" { source = "./m" }`, `{"variable": {"a": {"default": "${x}"}}}`} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "main.tf"
		if isJSON {
			name += ".json"
		}
		m, err := readArchive(t, name, text, "m/main.tf", text)
		if err == nil && len(inspect.Compare(m, m)) > 0 {
			t.Error("it differs from itself")
		}
	})
}
