// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "add new fields to testdata/fields.txt")

// TestEveryFieldIsKnown compares the fields of Flux's kind with testdata/fields.txt, which says of each what
// becomes of it. A version of Flux with new ones fails here, so that none is ignored in silence.
func TestEveryFieldIsKnown(t *testing.T) {
	const file = "testdata/fields.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, note, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			notes[name] = strings.TrimSpace(note)
		} else if name != "" {
			t.Errorf("%s: %s has no note", file, name)
		}
	}
	var is []string
	fieldsOf(reflect.TypeFor[helmv2.HelmReleaseSpec](), "", &is)
	slices.Sort(is)
	if *update {
		var out strings.Builder
		for _, name := range is {
			out.WriteString(strings.TrimSpace(name+"  "+notes[name]) + "\n")
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	var known []string
	for name := range notes {
		known = append(known, name)
	}
	slices.Sort(known)
	if diff := cmp.Diff(known, is); diff != "" {
		t.Errorf("the fields of HelmRelease (-known +is):\n%s", diff)
	}
}

// fieldsOf lists the paths of the leaves.
func fieldsOf(t reflect.Type, path string, into *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "fluxcd") {
		*into = append(*into, path)
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		next := path
		if name != "" {
			next = strings.TrimPrefix(path+"."+name, ".")
		}
		fieldsOf(f.Type, next, into)
	}
}
