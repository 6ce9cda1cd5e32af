// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"fmt"
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
		got := c.config.Location(c.settings, nil)
		if c.settings != nil && c.settings[0].Name == "bucket" { // the digest is of the value
			got = got[:len("s3 bucket=(secret ")] + "2bd806c9" + got[len("s3 bucket=(secret 2bd806c9"):]
		}
		if got != want || strings.Contains(got, "hidden") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSamePlace(t *testing.T) {
	at := func(connection string, digest Digest) string {
		return BackendConfig{Kind: BackendOwn, HCL: "terraform {\nbackend \"pg\" {\nschema_name = \"a\"\n}\n}\n"}.
			Location([]Setting{{Name: "conn_str", Value: NewValue(connection), Secret: true}}, digest)
	}
	key := func(id string) Digest {
		return func(text string) string { return fmt.Sprintf("%s-%.4x", id, sha256.Sum256([]byte(text))) }
	}
	one, other := key("00000001"), key("00000002")
	const vagueA, vagueB, clear = "postgres://u:hid/den@a/states", "postgres://u:hid/den@b/states", "postgres://u:hidden@a/states"
	for sentence, test := range map[string]struct {
		was, now     string
		same, hidden bool
	}{
		"one place that is understood":                       {at(clear, one), at(clear, one), true, false},
		"two places that are understood":                     {at(clear, one), at("postgres://u:hidden@b/states", one), false, false},
		"one setting that is not understood":                 {at(vagueA, one), at(vagueA, one), true, false},
		"two settings that are not understood":               {at(vagueA, one), at(vagueB, one), false, true},
		"recorded by an earlier release":                     {at(vagueA, nil), at(vagueB, one), true, false},
		"recorded in another home":                           {at(vagueA, other), at(vagueB, one), true, false},
		"understood, and not":                                {at(clear, one), at(vagueA, one), false, false},
		"not understood, and another setting is another one": {at(vagueA, one), strings.Replace(at(vagueB, one), "=a", "=b", 1), false, false},
	} {
		if same, hidden := SamePlace(test.was, test.now), OnlyHiddenDiffers(test.was, test.now); same != test.same || hidden != test.hidden {
			t.Errorf("%s: %q and %q: %v %v", sentence, test.was, test.now, same, hidden)
		}
		if strings.Contains(test.was+test.now, "hid/den") || Vague(at(clear, one)) || !Vague(at(vagueA, one)) {
			t.Errorf("%s: %q and %q", sentence, test.was, test.now)
		}
	}
}
