// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

func TestLockable(t *testing.T) {
	var locks []providers.Lock
	for _, name := range []string{"registry.opentofu.org/hashicorp/time", "registry.opentofu.org/acme/lost", "example.com/acme/own"} {
		a, err := providers.ParseAddress(name, "registry.opentofu.org")
		if err != nil {
			t.Fatal(err)
		}
		locks = append(locks, providers.Lock{Address: a})
	}
	names := map[string][]string{"hashicorp/time": {"~> 0.1"}, "example.com/acme/own": nil}
	for sentence, test := range map[string]struct {
		needs  module.ProviderNeeds
		of     int
		others []string
	}{
		"what the program does not name is not locked": {module.ProviderNeeds{Providers: names}, 2, []string{"acme/lost"}},
		"a program that needs none":                    {module.ProviderNeeds{}, 0, []string{"hashicorp/time", "acme/lost", "example.com/acme/own"}},
		"its needs are not clear":                      {module.ProviderNeeds{Providers: names, Unclear: "it cannot be read"}, 3, nil},
		"there may be others, as those of tests":       {module.ProviderNeeds{Providers: names, Others: true}, 3, nil},
		"a source that only the tool understands":      {module.ProviderNeeds{Providers: map[string][]string{"a/b/c/d": nil}}, 3, nil},
	} {
		if of, others := lockable(locks, test.needs, "registry.opentofu.org"); len(of) != test.of || !slices.Equal(others, test.others) {
			t.Errorf("%s: %d are locked, and not %q", sentence, len(of), others)
		}
	}
}
