// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
)

const vpc = "acme/vpc/aws"

// outcome is a decision in words.
type outcome struct {
	Publish, Refused []string
	Count            int
	Latest           string
	Left             int
}

func decided(t *testing.T, rule Rule, f Facts) outcome {
	t.Helper()
	rule.Module = vpc
	m, err := rule.Compile()
	if err != nil {
		t.Fatal(err)
	}
	f.Rules = []*Matcher{m}
	d := Tags(f)
	o := outcome{Count: d.Modules[0].Count, Latest: d.Modules[0].Latest, Left: d.Left}
	for _, p := range d.Publish {
		o.Publish = append(o.Publish, p.Version+" from "+p.Tag.Name+"@"+p.Tag.Commit)
	}
	for _, r := range d.Refused {
		o.Refused = append(o.Refused, r.Tag.Name+": "+r.Reason)
	}
	return o
}

// tags parses "NAME@COMMIT".
func tags(list ...string) (all []Tag) {
	for _, text := range list {
		name, commit, _ := strings.Cut(text, "@")
		all = append(all, Tag{name, commit})
	}
	return all
}

func have(list ...Published) map[string][]Published { return map[string][]Published{vpc: list} }

func TestTags(t *testing.T) {
	first := Published{Version: "1.0.0", Digest: "sha256:1", Tag: "v1.0.0", Commit: "a"}
	pushed := Published{Version: "1.0.0", Digest: "sha256:1"}
	moved := Publish{Rule: &Matcher{Rule: Rule{Module: vpc}}, Version: "1.0.0", Tag: Tag{"v1.0.0", "b"}, Was: &first}
	verdict := moved.Refused(moved.Refuse("TagMoved", "…"))
	same := Publish{Rule: moved.Rule, Version: "1.0.0", Tag: Tag{"v1.0.0", "a"}, Was: &pushed}
	for sentence, test := range map[string]struct {
		rule  Rule
		facts Facts
		want  outcome
	}{
		"tags of the whole repository, with and without v, in ascending order": {Rule{}, Facts{Tags: tags("v1.10.0@c", "1.2.0@b", "v1.0.0@a")},
			outcome{Publish: []string{"1.0.0 from v1.0.0@a", "1.2.0 from 1.2.0@b", "1.10.0 from v1.10.0@c"}}},
		"tags of a directory": {Rule{Path: "modules/vpc"}, Facts{Tags: tags("modules/vpc/v1.0.0@a", "modules/vpc2/v1.0.0@a", "v2.0.0@b", "modules/vpc/sub/v1.0.0@c")},
			outcome{Publish: []string{"1.0.0 from modules/vpc/v1.0.0@a"}}},
		"a pattern of one's own, whose v is written": {Rule{Pattern: "vpc-v{version}-final"}, Facts{Tags: tags("vpc-v1.0.0-final@a", "vpc-vv1.0.0-final@a", "vpc-v1.0.0@b")},
			outcome{Publish: []string{"1.0.0 from vpc-v1.0.0-final@a"}}},
		"tags that are not about versions are ignored": {Rule{}, Facts{Tags: tags("nightly@a", "v@a", "release/1.0.0@a", "../v1.0.0@a", "vv1.0.0@a", "v-1.0.0@a")}, outcome{}},
		"tags that look like versions and are none are refused": {Rule{}, Facts{Tags: tags("v1@a", "v1.2@a", "v01.0.0@a", "v1.0.0+build@a", "1.0.0é@a", "v1.0.0 @a")},
			outcome{Refused: []string{"1.0.0é: InvalidVersion", "v01.0.0: InvalidVersion", "v1: InvalidVersion", "v1.0.0 : InvalidVersion", "v1.0.0+build: InvalidVersion", "v1.2: InvalidVersion"}}},
		"a range": {Rule{Range: ">=1.1.0 <2"}, Facts{Tags: tags("v1.0.0@a", "v1.1.0@b", "v2.0.0@c")}, outcome{Publish: []string{"1.1.0 from v1.1.0@b"}}},
		"a range leaves pre-releases in, unless they are ignored": {Rule{Range: ">=1.1.0"}, Facts{Tags: tags("v1.2.0-rc1@a")}, outcome{Publish: []string{"1.2.0-rc1 from v1.2.0-rc1@a"}}},
		"pre-releases are ignored on request":                     {Rule{IgnorePrereleases: true}, Facts{Tags: tags("v1.2.0-rc1@a", "v1.1.0@b")}, outcome{Publish: []string{"1.1.0 from v1.1.0@b"}}},
		"what is published from the commit is done":               {Rule{}, Facts{Tags: tags("v1.0.0@a"), Published: have(first)}, outcome{Count: 1, Latest: "1.0.0"}},
		"a moved tag is tried: its content may be the same":       {Rule{}, Facts{Tags: tags("v1.0.0@b"), Published: have(first)}, outcome{Publish: []string{"1.0.0 from v1.0.0@b"}}},
		"a moved tag was refused: it stays so": {Rule{}, Facts{Tags: tags("v1.0.0@b"), Published: have(first), Verdicts: map[Key]Verdict{verdict.Refusal.Key(): verdict}},
			outcome{Refused: []string{"v1.0.0: TagMoved"}}},
		"somebody replaced the published version: try again": {Rule{}, Facts{Tags: tags("v1.0.0@b"), Published: have(Published{Version: "1.0.0", Digest: "sha256:2"}),
			Verdicts: map[Key]Verdict{verdict.Refusal.Key(): verdict}}, outcome{Publish: []string{"1.0.0 from v1.0.0@b"}}},
		"a version that was pushed is compared once": {Rule{}, Facts{Tags: tags("v1.0.0@a"), Published: have(pushed)}, outcome{Publish: []string{"1.0.0 from v1.0.0@a"}}},
		"a version that was pushed with the same content is done": {Rule{}, Facts{Tags: tags("v1.0.0@a"), Published: have(pushed),
			Verdicts: map[Key]Verdict{same.Refuse("", "").Key(): same.Same()}}, outcome{Count: 1, Latest: "1.0.0"}},
		"a deleted tag changes nothing":                  {Rule{}, Facts{Published: have(first)}, outcome{}},
		"two tags of one version and commit are one":     {Rule{}, Facts{Tags: tags("v1.0.0@a", "1.0.0@a")}, outcome{Publish: []string{"1.0.0 from 1.0.0@a"}}},
		"two tags of one version with different commits": {Rule{}, Facts{Tags: tags("v1.0.0@a", "1.0.0@b")}, outcome{Refused: []string{"1.0.0: AmbiguousTags", "v1.0.0: AmbiguousTags"}}},
		"two tags of one version, one of them published": {Rule{}, Facts{Tags: tags("v1.0.0@a", "1.0.0@b"), Published: have(first)},
			outcome{Count: 1, Latest: "1.0.0", Refused: []string{"1.0.0: AmbiguousTags"}}},
		"what is published of a module that may not be published any more stays so, and nothing follows": {Rule{},
			Facts{Tags: tags("v1.0.0@a", "v2.0.0@b"), Published: have(first), Forbidden: map[string]bool{vpc: true}, Most: 1}, outcome{Count: 1, Latest: "1.0.0"}},
		"at most so many at a time, the lowest first": {Rule{}, Facts{Tags: tags("v3.0.0@c", "v2.0.0@b", "v1.0.0@a"), Most: 2},
			outcome{Publish: []string{"1.0.0 from v1.0.0@a", "2.0.0 from v2.0.0@b"}, Left: 1}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, decided(t, test.rule, test.facts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongRules(t *testing.T) {
	for _, rule := range []Rule{{Pattern: "v"}, {Pattern: "{version}-{version}"}, {Range: "newest"}} {
		if _, err := rule.Compile(); err == nil {
			t.Errorf("%+v is accepted", rule)
		}
	}
}

// Whatever the facts: a version is published from one commit, in ascending order, and only if the
// registry does not have it from there and allows it; and the order of tags does not matter.
func TestLawsOfTags(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	rule, err := Rule{Module: vpc}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		f := Facts{Rules: []*Matcher{rule}, Most: r.IntN(4), Forbidden: map[string]bool{vpc: r.IntN(4) == 0}}
		for range r.IntN(6) {
			f.Tags = append(f.Tags, Tag{pick("v", "") + pick("1.0.0", "1.0.1", "2.0.0", "2.0", "x"), pick("a", "b")})
		}
		published := map[string]Published{}
		for range r.IntN(3) {
			v := pick("1.0.0", "1.0.1", "2.0.0")
			published[v] = Published{Version: v, Digest: pick("", "sha256:1"), Commit: pick("", "a", "b")}
		}
		for _, p := range published {
			f.Published = have(append(f.Published[vpc], p)...)
		}
		d := Tags(f)
		if f.Forbidden[vpc] {
			allowed := f
			allowed.Forbidden = nil
			if len(d.Publish) > 0 || d.Left > 0 || fmt.Sprint(d.Modules) != fmt.Sprint(Tags(allowed).Modules) {
				t.Fatalf("%+v: decided %+v although it is forbidden", f, d)
			}
		}
		var last *semver.Version
		for _, p := range d.Publish {
			v := semver.MustParse(p.Version)
			if last != nil && !v.GreaterThan(last) {
				t.Fatalf("%+v: %s comes after %s", f, v, last)
			}
			last = v
			if was, has := published[p.Version]; has && was.Commit == p.Tag.Commit {
				t.Fatalf("%+v: %s is published again", f, v)
			}
		}
		if f.Most > 0 && len(d.Publish) > f.Most || f.Most == 0 && d.Left > 0 {
			t.Fatalf("%+v: publishes %d, %d left", f, len(d.Publish), d.Left)
		}
		shuffled := f
		shuffled.Tags = append([]Tag{}, f.Tags...)
		r.Shuffle(len(shuffled.Tags), func(i, j int) { shuffled.Tags[i], shuffled.Tags[j] = shuffled.Tags[j], shuffled.Tags[i] })
		if a, b := fmt.Sprint(said(d)), fmt.Sprint(said(Tags(shuffled))); a != b {
			t.Fatalf("%+v: %s, in another order %s", f, a, b)
		}
	}
}

func said(d Decision) (all []string) {
	for _, p := range d.Publish {
		all = append(all, "publish "+p.Version+" "+p.Tag.Commit)
	}
	for _, r := range d.Refused {
		all = append(all, "refuse "+r.Tag.Name+" "+r.Tag.Commit+" "+r.Reason)
	}
	return append(all, fmt.Sprint(d.Left, d.Modules))
}

// FuzzMatch checks that a tag that is a version leads back to its name.
func FuzzMatch(f *testing.F) {
	f.Add("modules/vpc", "modules/vpc/v1.2.3")
	f.Add("", "1.2.3-rc.1")
	f.Fuzz(func(t *testing.T, dir, tag string) {
		m, err := Rule{Module: vpc, Path: dir}.Compile()
		if err != nil {
			t.Skip()
		}
		v, found, err := m.match(tag)
		if found && err == nil && m.before+v.String()+m.after != tag && m.before+"v"+v.String()+m.after != tag {
			t.Errorf("%q of %q is %s", tag, dir, v)
		}
	})
}
