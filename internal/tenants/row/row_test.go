// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

var mappings = tenantv1.ValueMappings{UID: "id", HostOrURL: "url", Activate: "is_active"}

// raw makes a raw row of names and texts in turn. The text "NULL" is NULL.
func raw(columns ...string) map[string]*string {
	r := map[string]*string{}
	for i := 0; i < len(columns); i += 2 {
		r[columns[i]] = nil
		if columns[i+1] != "NULL" {
			r[columns[i]] = ptr.To(columns[i+1])
		}
	}
	return r
}

func TestMap(t *testing.T) {
	extra := map[string]string{"planId": "plan", "region": "region"}
	for sentence, c := range map[string]struct {
		columns map[string]*string
		want    Row
		missing []string
		noUID   bool
	}{
		"a row with everything": {
			columns: raw("id", "acme", "url", "https://acme.example.org:8443/x", "is_active", "1", "plan", "pro", "region", "eu", "more", "no"),
			want: Row{UID: "acme", SafeUID: "acme", HostOrURL: "https://acme.example.org:8443/x", Host: "acme.example.org", Activate: "1", Active: true,
				Extra: map[string]string{"planId": "pro", "region": "eu"}}},
		"NULL is the empty text": {
			columns: raw("id", "acme", "url", "NULL", "is_active", "NULL", "plan", "NULL", "region", "eu"),
			want:    Row{UID: "acme", SafeUID: "acme", Extra: map[string]string{"planId": "", "region": "eu"}}},
		"an empty address leaves nobody out": {
			columns: raw("id", "acme", "url", "", "is_active", "yes", "plan", "", "region", ""),
			want:    Row{UID: "acme", SafeUID: "acme", Activate: "yes", Active: true, Extra: map[string]string{"planId": "", "region": ""}}},
		"a uid that is no label of DNS is changed, and kept as it is beside": {
			columns: raw("id", "ACME Inc.", "url", "acme.org", "is_active", "0", "plan", "", "region", ""),
			want: Row{UID: "ACME Inc.", SafeUID: SafeUID("ACME Inc."), HostOrURL: "acme.org", Host: "acme.org", Activate: "0",
				Extra: map[string]string{"planId": "", "region": ""}}},
		"columns that are not there": {
			columns: raw("id", "acme", "is_active", "1"),
			want:    Row{UID: "acme", SafeUID: "acme", Activate: "1", Active: true, Extra: map[string]string{"planId": "", "region": ""}},
			missing: []string{"plan", "region", "url"}},
		"a uid that is NULL": {
			columns: raw("id", "NULL", "url", "", "is_active", "1", "plan", "", "region", ""),
			want:    Row{Activate: "1", Active: true, Extra: map[string]string{"planId": "", "region": ""}}, noUID: true},
		"a uid of nothing but blanks": {
			columns: raw("id", " \t", "url", "", "is_active", "1", "plan", "", "region", ""),
			want:    Row{UID: " \t", Activate: "1", Active: true, Extra: map[string]string{"planId": "", "region": ""}}, noUID: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Map(c.columns, mappings, extra)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			var missing *MissingColumnError
			switch {
			case c.noUID:
				if !errors.Is(err, ErrNoUID) {
					t.Errorf("error is %v", err)
				}
			case c.missing != nil:
				if !errors.As(err, &missing) {
					t.Fatalf("error is %v", err)
				}
				if diff := cmp.Diff(c.missing, missing.Columns); diff != "" {
					t.Errorf("missing columns (-want +got):\n%s", diff)
				}
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func TestARegistryNeedsNoColumnForAddresses(t *testing.T) {
	got, err := Map(raw("id", "acme", "is_active", "1"), tenantv1.ValueMappings{UID: "id", Activate: "is_active"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Row{UID: "acme", SafeUID: "acme", Activate: "1", Active: true, Extra: map[string]string{}}, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestActive(t *testing.T) {
	for _, value := range []string{"1", "true", "TRUE", "True", "yes", "YES", "Yes"} {
		if !Truthy(value) {
			t.Errorf("%q is not active", value)
		}
	}
	for _, value := range []string{"", "0", "2", "01", "1 ", " 1", "y", "Y", "on", "t", "tRUE", "false", "no", "active", "\x01", "１"} {
		if Truthy(value) {
			t.Errorf("%q is active", value)
		}
	}
}

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "",
		"https://acme.example.org":             "acme.example.org",
		"https://acme.example.org:8443/a?b#c":  "acme.example.org",
		"http://user:secret@acme.example.org/": "acme.example.org",
		"acme.example.org":                     "acme.example.org",
		"acme.example.org:8080":                "acme.example.org",
		"acme.example.org:8080/path":           "acme.example.org",
		"acme.example.org/path":                "acme.example.org",
		"user@acme.example.org":                "acme.example.org",
		"//acme.example.org/path":              "acme.example.org",
		"localhost":                            "localhost",
		"https://[2001:db8::1]:443/":           "2001:db8::1",
		"[2001:db8::1]:443":                    "2001:db8::1",
		"2001:db8::1":                          "2001:db8::1",
		"http://":                              "",
		"https://acme example.org/":            "acme example.org",
		"  https://acme.example.org  ":         "acme.example.org",
	} {
		if got := Host(address); got != want {
			t.Errorf("the host of %q is %q, want %q", address, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	extra := map[string]string{"plan": "plan", "again": "id"}
	if diff := cmp.Diff([]string{"id", "is_active", "plan", "url"}, Columns(mappings, extra)); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// Values are often JSON already, whose quotes take two bytes each in an annotation.
func TestHowLongTheValuesOfARowMayBe(t *testing.T) {
	for sentence, c := range map[string]struct {
		value string
		long  bool
	}{
		"as long as may be":         {strings.Repeat("x", maxValues-len(`{"v":""}`)-1), false},
		"a byte more":               {strings.Repeat("x", maxValues-len(`{"v":""}`)), true},
		"half of it, but of quotes": {strings.Repeat(`"`, maxValues/2), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Map(raw("id", "a", "on", "", "v", c.value), tenantv1.ValueMappings{UID: "id", Activate: "on"}, map[string]string{"v": "v"})
			var long *TooLongError
			if errors.As(err, &long) != c.long {
				t.Errorf("error is %v", err)
			}
		})
	}
}
