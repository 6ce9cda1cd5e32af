// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package opentofu

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

// providing keeps the releases of a test, of which these may be downloaded.
func providing(t *testing.T, releases *releasetest.Releases, allow ...string) *Kept {
	t.Helper()
	k := kept(t, Source{URL: releases.URL, KeyFile: releases.KeyFile})
	var err error
	if k.Allow, err = ParseAllow(allow); err != nil {
		t.Fatal(err)
	}
	return k
}

func wish(versions string) Wish {
	return Wish{Tool: Tofu, Range: versions, OS: runtime.GOOS, Arch: runtime.GOARCH, By: "stack team/vpc"}
}

func TestAToolOnDemandIsDownloadedOnce(t *testing.T) {
	releases := releasetest.New(t)
	releases.Publish("1.9.1", []byte(strings.Repeat(script, 1000)))
	k := providing(t, releases, "opentofu ~> 1.9.0")
	var all sync.WaitGroup
	var mu sync.Mutex
	var told []string
	for range 20 {
		all.Go(func() {
			got, err := k.Provide(t.Context(), wish("1.9.1"), func(text string) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, text)
			})
			if err != nil || got.Version != "1.9.1" || got.Archive != releasetest.ArchiveName("1.9.1") || got.SHA256 == "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if asked := releases.Asked(); len(asked) != 3 {
		t.Errorf("asked for %q", asked)
	}
	if !slices.ContainsFunc(told, func(s string) bool {
		return strings.HasPrefix(s, "Downloading OpenTofu 1.9.1 for ") && strings.Contains(s, releases.URL)
	}) {
		t.Errorf("told %q", told)
	}
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || list[0].By != "stack team/vpc" || list[0].From != releases.URL || list[0].Kept == nil || list[0].Signer == "" || len(list[0].Files) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	// What is kept needs neither the origin nor a right to download, and fits ranges.
	k.Allow = Allow{}
	if err := os.RemoveAll(releases.Dir); err != nil {
		t.Fatal(err)
	}
	for _, versions := range []string{"~> 1.9.0", "", ">= 1.8, < 2"} {
		if got, err := k.Provide(t.Context(), wish(versions), func(string) {}); err != nil || got.Version != "1.9.1" {
			t.Errorf("%q: %+v, %v", versions, got, err)
		}
	}
}

func TestTheNewestAllowedVersionOfTheOriginIsChosen(t *testing.T) {
	releases := releasetest.New(t)
	for _, v := range []string{"1.9.0", "1.9.2", "1.10.0", "1.11.0", "1.12.0-rc1"} {
		releases.Publish(v, []byte(script+"# "+v))
	}
	releases.List("1.9.0", "1.9.2", "1.10.0", "1.11.0", "1.12.0-rc1")
	for versions, want := range map[string]string{"~> 1.9.0": "1.9.2", ">= 1.9": "1.10.0", "": "1.10.0", "= 1.9.0": "1.9.0"} {
		k := providing(t, releases, "opentofu >= 1.8", "< 1.11")
		if got, err := k.Provide(t.Context(), wish(versions), func(string) {}); err != nil || got.Version != want {
			t.Errorf("%q: got %+v, %v, want %s", versions, got, err, want)
		}
	}
	k := providing(t, releases, "opentofu >= 1.8", "< 1.11")
	if _, err := k.Provide(t.Context(), wish("~> 1.9.0"), func(string) {}); err != nil {
		t.Fatal(err)
	}
	index, err := k.Index(t.Context(), Tofu, "api.json")
	var document struct {
		Versions []struct{ ID string }
	}
	if err == nil {
		err = json.Unmarshal(index, &document)
	}
	if err != nil || len(document.Versions) != 1 || document.Versions[0].ID != "1.9.2" {
		t.Errorf("%s, %v", index, err)
	}
}

// Each of these names the reason and the way out.
func TestWhatCannotBeProvided(t *testing.T) {
	for sentence, test := range map[string]struct {
		allow   []string
		wish    Wish
		damage  func(r *releasetest.Releases)
		refused bool
		says    []string
	}{
		"nothing may be downloaded": {nil, wish("1.9.1"), nil, true, []string{"does not keep tofu 1.9.1 for", "\n    yuba up --tools-allow 'tofu 1.9.1'"}},
		"another version":           {[]string{"tofu ~> 1.10.0"}, wish("1.9.1"), nil, true, []string{"may only download tofu ~> 1.10.0", "a wider --tools-allow"}},
		"another tool":              {[]string{"tofu"}, Wish{Tool: "packer"}, nil, true, []string{"the tools are tofu and terraform"}},
		"a range that is none":      {[]string{"tofu"}, wish("newest"), nil, true, []string{`"newest" is not a range of versions`}},
		"a version that does not exist": {[]string{"tofu"}, wish("1.9.7"), nil, false,
			[]string{"/v1.9.7/tofu_1.9.7_SHA256SUMS: the file does not exist: this version may not exist", "--tools-url"}},
		"another platform": {[]string{"tofu"}, Wish{Tool: Tofu, Range: "1.9.1", OS: "plan9", Arch: "mips"}, nil, false, []string{"tofu_1.9.1_SHA256SUMS does not list it"}},
		"no list":          {[]string{"tofu"}, wish("~> 1.9.0"), nil, false, []string{"api.json: the file does not exist", "Name an exact version"}},
		"a list that is none": {[]string{"tofu"}, wish("~> 1.9.0"), func(r *releasetest.Releases) {
			if err := os.WriteFile(filepath.Join(r.Dir, "api.json"), []byte("<html>"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false, []string{"it is not a list of versions"}},
		"another signer": {[]string{"tofu"}, wish("1.9.1"), func(r *releasetest.Releases) {
			r.Sign("1.9.1", releasetest.NewKey(t, filepath.Join(t.TempDir(), "other")), string(read(t, r.Path("1.9.1", releasetest.Sums("1.9.1")))))
		}, false, []string{"it is not signed by the keys in"}},
		"an archive with another byte": {[]string{"tofu"}, wish("1.9.1"), func(r *releasetest.Releases) {
			r.Write("1.9.1", releasetest.ArchiveName("1.9.1"), []byte("something else"))
		}, false, []string{"The file was damaged or replaced in transit"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			releases := releasetest.New(t)
			releases.Publish("1.9.1", []byte(script))
			if test.damage != nil {
				test.damage(releases)
			}
			_, err := providing(t, releases, test.allow...).Provide(t.Context(), test.wish, func(string) {})
			var refused *RefusedError
			if err == nil || errors.As(err, &refused) != test.refused {
				t.Fatalf("%v", err)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in\n%v", want, err)
				}
			}
		})
	}
}

func TestRulesOfWhatMayBeDownloaded(t *testing.T) {
	for rule, test := range map[string]struct{ yes, no string }{
		"opentofu ~> 1.10.0, terraform >= 1.5": {"tofu 1.10.3, terraform 1.5.7, terraform 2.0.0", "tofu 1.11.0, terraform 1.4.0"},
		"tofu":                                 {"tofu 1.0.0, tofu 1.13.0-rc1", "terraform 1.5.7"},
		"terraform 1.5.7":                      {"terraform 1.5.7", "terraform 1.5.8, tofu 1.5.7"},
		"opentofu >= 1.8, < 2, tofu 2.1.0":     {"tofu 1.8.0, tofu 2.1.0", "tofu 2.0.0, tofu 1.7.9"},
		"":                                     {"", "tofu 1.12.6"},
	} {
		a, err := ParseAllow([]string{rule})
		if err != nil {
			t.Errorf("%q: %v", rule, err)
		}
		for list, want := range map[string]bool{test.yes: true, test.no: false} {
			for one := range strings.SplitSeq(list, ", ") {
				tool, version, _ := strings.Cut(one, " ")
				if one != "" && a.Allows(tool, semver.MustParse(version)) != want {
					t.Errorf("%q: %s is allowed: %v", rule, one, !want)
				}
			}
		}
	}
	for _, rule := range []string{"packer", ">= 1.8", "tofu newest", "opentofu>=1.8 tofu", "tofu 1.8, packer 1.0"} {
		if _, err := ParseAllow([]string{rule}); err == nil {
			t.Errorf("%q is accepted", rule)
		}
	}
}
