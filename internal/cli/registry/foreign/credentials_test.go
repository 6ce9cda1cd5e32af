// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokensAreThoseOfTofu(t *testing.T) {
	const host = "tfe.my-corp.example"
	login := `{"credentials":{"` + host + `":{"token":"of login"},"other.example":{"token":"other"}}}`
	for sentence, test := range map[string]struct {
		variables, files map[string]string
		host, want       string
	}{
		"there is none":                        {host: host},
		"a variable, with dashes doubled":      {variables: map[string]string{"TF_TOKEN_tfe_my__corp_example": "a"}, files: map[string]string{".terraform.d/credentials.tfrc.json": login}, host: host, want: "a"},
		"a variable with a plain dash":         {variables: map[string]string{"TF_TOKEN_tfe_my-corp_example": "a"}, host: host, want: "a"},
		"what tofu login wrote":                {files: map[string]string{".terraform.d/credentials.tfrc.json": login}, host: host, want: "of login"},
		"the login wins over the file":         {files: map[string]string{".terraform.d/credentials.tfrc.json": login, ".tofurc": `credentials "` + host + `" { token = "file" }`}, host: host, want: "of login"},
		"a credentials block":                  {files: map[string]string{".tofurc": "plugin_cache_dir = \"$HOME/x\"\ncredentials \"TFE.my-corp.example:443\" {\n  token = \"file\"\n}\n"}, host: host, want: "file"},
		"the file of Terraform":                {files: map[string]string{".terraformrc": `credentials "` + host + `" { token = "old" }`}, host: host, want: "old"},
		"but not beside that of OpenTofu":      {files: map[string]string{".tofurc": "", ".terraformrc": `credentials "` + host + `" { token = "old" }`}, host: host},
		"a directory by XDG":                   {variables: map[string]string{"XDG_CONFIG_HOME": "HOME/xdg"}, files: map[string]string{"xdg/opentofu/credentials.tfrc.json": login}, host: host, want: "of login"},
		"one file, instead of all others":      {variables: map[string]string{"TF_CLI_CONFIG_FILE": "HOME/my.tfrc"}, files: map[string]string{"my.tfrc": `credentials "x.example" { token = "x" }`, ".terraform.d/credentials.tfrc.json": login}, host: host},
		"a port belongs to the name of a host": {files: map[string]string{".tofurc": `credentials "` + host + `:8443" { token = "port" }`}, host: host},
	} {
		t.Run(sentence, func(t *testing.T) {
			home := t.TempDir()
			for name, text := range test.files {
				path := filepath.Join(home, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			c := Credentials{Home: home, Lookup: func(name string) (string, bool) {
				value, ok := test.variables[name]
				return strings.Replace(value, "HOME", home, 1), ok
			}}
			if got, from, err := c.Token(test.host); err != nil || got != test.want {
				t.Errorf("%q from %s, %v; want %q", got, from, err, test.want)
			}
		})
	}
}

func TestAnInvalidFileOfCredentialsIsNamed(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".tofurc"), []byte("credentials {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Credentials{Home: home, Lookup: func(string) (string, bool) { return "", false }}.Token("a.example")
	if err == nil || !strings.Contains(err.Error(), ".tofurc:1") {
		t.Error(err)
	}
}

func TestLocationsOfArchives(t *testing.T) {
	at := &url.URL{Scheme: "https", Host: "tfe.example.com", Path: "/api/registry/v1/modules/acme/vpc/aws/1.0.0/download"}
	for source, want := range map[string]string{
		"/_archivist/v1/object/abc?archive=tar.gz":             "https://tfe.example.com/_archivist/v1/object/abc ",
		"./archive/x.tar.gz":                                   "https://tfe.example.com/api/registry/v1/modules/acme/vpc/aws/1.0.0/archive/x.tar.gz ",
		"https::https://b.example/x.zip//modules/vpc?sig=a%2F": "https://b.example/x.zip?sig=a%2F modules/vpc",
		"https://b.example/tarball/v1//*?archive=tar.gz":       "https://b.example/tarball/v1 *",
		"git::ssh://git@github.com/a/b?ref=v1":                 "git repository instead: git::ssh://github.com/a/b?ref=v1",
		"github.com/a/b":                                       "git repository instead: github.com/a/b",
		"https://github.com/a/b.git//vpc?ref=v1":               "git repository instead",
		"s3::https://s3.amazonaws.com/b/x.zip":                 `fetched by "s3"`,
		"file:///etc/passwd":                                   "not at an https:// URL",
	} {
		got, err := parseLocation(at, source)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = got.url.String() + " " + got.dir
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", source, text, want)
		}
	}
}
