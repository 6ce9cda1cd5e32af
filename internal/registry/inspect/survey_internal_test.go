// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReadingModulesEndsWithItsContext(t *testing.T) {
	for _, dir := range []string{"modules", "examples"} {
		files := newTree()
		files.put("main.tf", []byte(`variable "a" {}`))
		files.put(dir+"/one/main.tf", []byte(`variable "a" {}`))
		gone := errors.New("the client went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if err := newSurvey(files).module(ctx, &Module{}); !errors.Is(err, gone) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// Each of the submodules calls the next ones, so reading each with those it calls costs the square of
// their number.
func TestModulesThatCallEachOtherAreParsedOnce(t *testing.T) {
	files, calls := newTree(), 0
	files.put("main.tf", []byte(`module "first" { source = "./modules/m0" }`))
	body := strings.Repeat("# a comment that takes a while to read\n", 30)
	for i := range maxParts {
		text := body + fmt.Sprintf("resource \"p%d_thing\" \"a\" {}\n", i)
		for next := i + 1; next < min(i+3, maxParts); next++ {
			text += fmt.Sprintf("module \"m%d\" { source = \"../m%d\" }\n", next, next)
			calls++
		}
		files.put(fmt.Sprintf("modules/m%d/main.tf", i), []byte(text))
	}
	alone := newTree()
	for name, text := range files.files {
		alone.put(name, []byte(strings.ReplaceAll(string(text), `"../`, `"acme/x/`)))
	}
	took := func(tree *tree) time.Duration {
		began := time.Now()
		if err := newSurvey(tree).module(t.Context(), &Module{}); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	// Without calls, it is as much to read. The walks over the parsed modules cost something, too.
	if without, with := took(alone), took(files); with > 5*without {
		t.Errorf("%d modules with %d calls take %s, and without calls %s", maxParts, calls, with, without)
	}
}
