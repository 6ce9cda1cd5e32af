// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/metadata"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func spec(name, version string) string {
	return fmt.Sprintf("metadata {\n  namespace = \"acme\"\n  name = %q\n  provider = \"aws\"\n  version = %q\n}\n", name, version)
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		spec("vpc", "1.2.0"):                   "acme/vpc/aws@1.2.0",
		spec("vpc", "v1.2.0"):                  "acme/vpc/aws@1.2.0",
		spec("vpc", "1.2"):                     `the version "1.2": expected three numbers`,
		spec("VPC", "1.2.0"):                   `the name "VPC" of a module`,
		`metadata {}`:                          `lacks "namespace"`,
		``:                                     `it has no block "metadata"`,
		`other {}`:                             "line 1: expected one block named metadata",
		"metadata {\n  namespace = local.x\n}": "line 2: namespace must be a text in quotes",
		"metadata {\n":                         "boring-registry.hcl:1,10",
		"metadata {\n  namespace = \"a${upper(1)}\"\n}": "line 2: namespace must be",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, metadata.FileName), text)
		found, err := metadata.Read(dir, "")
		got := found.Version.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	dir := t.TempDir()
	if _, err := metadata.Read(dir, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	write(t, filepath.Join(dir, metadata.FileName), strings.Replace(spec("vpc", ""), `version = ""`, "", 1))
	if found, err := metadata.Read(dir, "2.0.0"); err != nil || found.Version.Version != "2.0.0" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/inner", "a", "old/x", ".terraform/modules/y", "tests/z"} {
		write(t, filepath.Join(dir, name, metadata.FileName), spec(strings.ReplaceAll(name, "/", "-"), "1.0.0"))
	}
	found, err := metadata.Find(dir, []string{"/old", "tests/"})
	var got []string
	for _, f := range found {
		relative, err := filepath.Rel(dir, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, relative+" "+f.Version.String())
	}
	if want := "a acme/a/aws@1.0.0, a/inner acme/a-inner/aws@1.0.0, b acme/b/aws@1.0.0"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := metadata.Find(dir, []string{"!a"}); err == nil || !strings.Contains(err.Error(), "cannot be negated") {
		t.Error(err)
	}
}
