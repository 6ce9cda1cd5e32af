// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func of[T any](v T) *T { return &v }

func TestLatest(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		tags string
		want string
	}{
		"the highest version of a range":             {Spec{SemVer: of("1.x")}, "1.0.0 1.10.0 1.9.0 2.0.0 latest", "1.10.0"},
		"a v before the version":                     {Spec{SemVer: of(">=1.0.0")}, "v1.0.0 v1.1.0 nightly", "v1.1.0"},
		"pre-releases only where the range has them": {Spec{SemVer: of("1.x")}, "1.0.0 1.1.0-rc.1", "1.0.0"},
		"pre-releases where the range has them":      {Spec{SemVer: of(">=1.0.0-0")}, "1.0.0 1.1.0-rc.1", "1.1.0-rc.1"},
		"the same version twice: the later name":     {Spec{SemVer: of("1.x")}, "v1.0.0 1.0.0", "v1.0.0"},
		"no version in the range":                    {Spec{SemVer: of("3.x")}, "1.0.0 latest", `none of the 2 selected tags is a version within "3.x"`},
		"no tags":                                    {Spec{SemVer: of("3.x")}, "", "the image has no tags"},
		"nothing matches the pattern":                {Spec{SemVer: of("*"), Pattern: "^v"}, "1.0.0 2.0.0", "none of the 2 tags matches spec.filterTags.pattern"},
		"the pattern selects":                        {Spec{SemVer: of("*"), Pattern: "-alpine$", Extract: ""}, "1.0.0 0.9.0-alpine", `none of the 1 selected tags is a version within "*"`},
		"the pattern extracts a version":             {Spec{SemVer: of("*"), Pattern: `^(?P<v>.*)-alpine$`, Extract: "$v"}, "1.9.0 1.0.0-alpine 1.1.0-alpine", "1.1.0-alpine"},
		"ascending elects z":                         {Spec{Alphabetical: of(Ascending)}, "a z m", "z"},
		"ascending is the default":                   {Spec{Alphabetical: of(Order(""))}, "a z m", "z"},
		"descending elects a":                        {Spec{Alphabetical: of(Descending)}, "b a z", "a"},
		"numbers are not text":                       {Spec{Numerical: of(Ascending)}, "9 10 2", "10"},
		"the lowest number":                          {Spec{Numerical: of(Descending)}, "9 10 2", "2"},
		"fractions, and a sign":                      {Spec{Numerical: of(Ascending)}, "-1 1.5 1.25", "1.5"},
		"numbers beyond a float's precision":         {Spec{Numerical: of(Ascending)}, "20240101123456788 20240101123456789 20240101123456787", "20240101123456789"},
		"words are no candidates for numbers":        {Spec{Numerical: of(Ascending)}, "latest 1 NaN Inf 0x10 1e999999999", "1"},
		"only words":                                 {Spec{Numerical: of(Ascending)}, "latest main", "none of the 2 selected tags is a number"},
		"a build number of a branch":                 {Spec{Numerical: of(Ascending), Pattern: `^main-[a-f0-9]+-(?P<ts>[0-9]+)`, Extract: "$ts"}, "main-abc-100 main-def-20 dev-abc-900", "main-abc-100"},
		"the same build number: the later name":      {Spec{Numerical: of(Ascending), Pattern: `-([0-9]+)$`, Extract: "$1"}, "a-7 b-7 c-6", "b-7"},
		"extract with a group that does not exist":   {Spec{Numerical: of(Ascending), Pattern: `.*`, Extract: "$nothing"}, "1 2", "none of the 2 selected tags is a number"},
		"a pattern that is no regular expression":    {Spec{SemVer: of("*"), Pattern: "("}, "1.0.0", "spec.filterTags.pattern is not a valid regular expression"},
		"a range that is none":                       {Spec{SemVer: of("=>>1")}, "1.0.0", `spec.policy.semver.range "=>>1" is not a version range`},
		"no order":                                   {Spec{}, "1.0.0", "spec.policy needs exactly one of"},
		"two orders":                                 {Spec{SemVer: of("*"), Numerical: of(Ascending)}, "1.0.0", "spec.policy needs exactly one of"},
		"an order that is none":                      {Spec{Numerical: of(Order("up"))}, "1", `the order "up" is neither asc nor desc`},
		"extract without a pattern":                  {Spec{Numerical: of(Ascending), Extract: "$1"}, "1", "spec.filterTags.extract needs"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(c.spec)
			got := ""
			if err == nil {
				got, err = p.Latest(strings.Fields(c.tags))
			}
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Whatever the tags are: the result is one of them, no other is higher, and their order does not matter.
func TestLaws(t *testing.T) {
	specs := []Spec{{SemVer: of(">=0.0.0-0")}, {SemVer: of("1.x")}, {Alphabetical: of(Ascending)}, {Alphabetical: of(Descending)}, {Numerical: of(Ascending)},
		{Numerical: of(Descending)}, {Numerical: of(Ascending), Pattern: `^v?(\d+)`, Extract: "$1"}}
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.SliceOf(rapid.OneOf(rapid.StringMatching(`v?[0-2]\.[0-9]{1,2}\.[0-2](-rc\.[0-9])?`), rapid.StringMatching(`[0-9]{1,30}(\.[0-9]{1,3})?`), rapid.String())).Draw(t, "tags")
		p, err := Compile(rapid.SampledFrom(specs).Draw(t, "spec"))
		if err != nil {
			t.Fatal(err)
		}
		latest, err := p.Latest(tags)
		if none := (*NoneError)(nil); err != nil && !errors.As(err, &none) {
			t.Fatal(err)
		}
		if err == nil && !slices.Contains(tags, latest) {
			t.Fatalf("%q is not a tag", latest)
		}
		shuffled := slices.Clone(tags)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again, _ := p.Latest(shuffled); again != latest {
			t.Fatalf("%q, and in another order %q", latest, again)
		}
		for _, other := range tags {
			if of2, err := p.Latest([]string{latest, other}); err == nil && latest != "" && of2 != latest {
				t.Fatalf("%q is above %q", of2, latest)
			}
		}
	})
}

func TestValidTags(t *testing.T) {
	names := []string{"1.0.0", "1.0.0", "sha256-abc.sig", "a\nb", "a\x1b[2J", "-x", "", strings.Repeat("a", 129), "ü", "main", "../x"}
	tags, invalid := Valid(names, []*regexp.Regexp{regexp.MustCompile(`^.*\.sig$`)})
	if diff := cmp.Diff([]string{"1.0.0", "main"}, tags); diff != "" || invalid != 7 {
		t.Error(invalid, diff)
	}
}

func TestAHundredThousandTags(t *testing.T) {
	var tags []string
	for i := range 100_000 {
		tags = append(tags, fmt.Sprintf("1.%d.%d", i%317, i))
	}
	began := time.Now()
	p, err := Compile(Spec{SemVer: of("1.x")})
	if err != nil {
		t.Fatal(err)
	}
	valid, _ := Valid(tags, nil)
	latest, err := p.Latest(valid)
	if err != nil || latest != "1.316.99854" {
		t.Errorf("%q, %v", latest, err)
	}
	t.Logf("%d tags in %s", len(tags), time.Since(began).Round(time.Millisecond))
}
