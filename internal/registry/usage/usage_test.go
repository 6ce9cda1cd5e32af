// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }

func everywhere(string) bool { return true }

func vpc(version, constraint string) Use {
	return Use{Kind: Module, Keys: []string{"vpc"}, Source: "yuba.example.com/acme/vpc/aws", Version: version, Constraint: constraint}
}

func aws(version string) Use {
	return Use{Kind: Provider, Source: "registry.opentofu.org/hashicorp/aws", Version: version}
}

// planned and applied are runs of a stack at a minute.
func planned(stack string, minute int, uses ...Use) Run {
	return Run{Stack: Stack{"team", stack, "uid-" + stack}, ID: fmt.Sprint(stack, "-", minute), Finished: at(minute), Outcome: "succeeded",
		Succeeded: true, Planned: true, Changes: true, Uses: uses, Known: true}
}

func applied(stack string, minute int, uses ...Use) Run {
	r := planned(stack, minute, uses...)
	r.Applied, r.ApplyStarted = true, true
	return r
}

func unchanged(stack string, minute int, uses ...Use) Run {
	r := planned(stack, minute, uses...)
	r.Changes = false
	return r
}

func indexOf(runs ...Run) *Index {
	x := NewIndex()
	x.Load(nil)
	for _, r := range runs {
		x.Ended(r)
	}
	return x
}

// told is a user in one line.
func told(list []User) (lines []string) {
	for _, u := range list {
		lines = append(lines, fmt.Sprintf("%s/%s %v %s %s since %s, %s", u.Namespace, u.Stack, u.Keys, u.Version, u.Standing, u.Since.Format("15:04"), u.LastRun))
	}
	return lines
}

func TestUsers(t *testing.T) {
	destroyed := applied("a", 3)
	destroyed.Destroy = true
	failed := planned("a", 3, vpc("1.3.0", ""))
	failed.Succeeded, failed.Planned, failed.Outcome = false, false, "failed"
	broken := planned("a", 3, vpc("1.3.0", ""))
	broken.Succeeded, broken.ApplyStarted = false, true
	again := unchanged("a", 3, vpc("1.2.0", ""))
	again.Stack.UID = "another"
	other := vpc("1.2.0", "")
	other.Keys = []string{"other"}
	for sentence, c := range map[string]struct {
		runs []Run
		want []string
	}{
		"an apply is in effect":                      {[]Run{planned("a", 1, vpc("1.2.0", "")), applied("a", 2, vpc("1.2.0", ""))}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-2"}},
		"a plan is not":                              {[]Run{planned("a", 1, vpc("1.2.0", ""))}, []string{"team/a [vpc] 1.2.0 planned since 10:01, a-1"}},
		"a plan without changes is":                  {[]Run{unchanged("a", 1, vpc("1.2.0", ""))}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-1"}},
		"a newer plan is beside the apply":           {[]Run{applied("a", 1, vpc("1.2.0", "")), planned("a", 2, vpc("1.3.0", ""))}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-2", "team/a [vpc] 1.3.0 planned since 10:02, a-2"}},
		"a plan with the same is not told twice":     {[]Run{applied("a", 1, vpc("1.2.0", "")), planned("a", 2, vpc("1.2.0", ""))}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-2"}},
		"a destroyed stack uses nothing":             {[]Run{applied("a", 1, vpc("1.2.0", "")), destroyed}, nil},
		"a failed plan changes nothing":              {[]Run{applied("a", 1, vpc("1.2.0", "")), failed}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-3"}},
		"a failed apply may have used its modules":   {[]Run{applied("a", 1, vpc("1.2.0", "")), broken}, []string{"team/a [vpc] 1.2.0 applied since 10:01, a-3", "team/a [vpc] 1.3.0 planned since 10:03, a-3"}},
		"an older run that is told late is ignored":  {[]Run{applied("a", 5, vpc("1.2.0", "")), applied("a", 1, vpc("1.0.0", ""))}, []string{"team/a [vpc] 1.2.0 applied since 10:05, a-5"}},
		"calls of one version are one line":          {[]Run{applied("a", 1, vpc("1.2.0", ""), other)}, []string{"team/a [vpc other] 1.2.0 applied since 10:01, a-1"}},
		"a new stack of the name has its own times":  {[]Run{applied("a", 1, vpc("1.2.0", "")), again}, []string{"team/a [vpc] 1.2.0 applied since 10:03, a-3"}},
		"stacks are sorted, and others are left out": {[]Run{applied("b", 1, vpc("1.2.0", "")), applied("a", 1, vpc("1.1.0", "")), applied("c", 1, aws("5.0.0"))}, []string{"team/a [vpc] 1.1.0 applied since 10:01, a-1", "team/b [vpc] 1.2.0 applied since 10:01, b-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			q, err := ParseQuery("acme/vpc/aws", "yuba.example.com")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, told(indexOf(c.runs...).Users(q, everywhere))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQueries(t *testing.T) {
	git := Use{Kind: Module, Source: "git::https://token@git.example.com/acme/modules.git//vpc?ref=v1.4.0"}
	public := Use{Kind: Module, Source: "registry.opentofu.org/terraform-aws-modules/vpc/aws", Version: "5.1.0"}
	for query, want := range map[string]struct{ vpc, rc, aws, git, public, tofu bool }{
		"acme/vpc/aws":                                  {vpc: true, rc: true},
		"acme/vpc/aws@<2":                               {vpc: true, rc: true},
		"acme/vpc/aws@1.2.0":                            {vpc: true},
		"acme/vpc/aws@>=1.3":                            {},
		"acme/vpc/aws@>1.2, <1.3":                       {rc: true},
		"ACME/VPC/AWS@~> 1.2":                           {vpc: true, rc: true},
		"yuba.example.com/acme/vpc/aws":                 {vpc: true, rc: true},
		"other.example.com/acme/vpc/aws":                {},
		"hashicorp/aws":                                 {aws: true},
		"hashicorp/aws@<5":                              {},
		"registry.opentofu.org/hashicorp/aws@~>5.0":     {aws: true},
		"git::https://git.example.com/acme/modules.git": {git: true},
		"ssh://git@git.example.com/acme/modules":        {git: true},
		"git@git.example.com:acme/modules.git":          {git: true},
		"https://git.example.com/acme/modules.git@<1.4": {},
		"terraform-aws-modules/vpc/aws@>5":              {public: true},
		"acme/vpc/*":                                    {vpc: true, rc: true},
		"acme/vpc/*@<1.3":                               {vpc: true, rc: true},
		"acme/*/azure":                                  {},
		"*/vpc/aws":                                     {vpc: true, rc: true, public: true},
		"*/aws@>5":                                      {aws: true},
		"tofu":                                          {tofu: true},
		"tofu@<1.13":                                    {tofu: true},
		"tofu@<1.10":                                    {},
		"terraform":                                     {},
		"*":                                             {vpc: true, rc: true, aws: true, git: true, public: true, tofu: true},
	} {
		q, err := ParseQuery(query, "yuba.example.com")
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		got := struct{ vpc, rc, aws, git, public, tofu bool }{q.Matches(vpc("1.2.0", "")), q.Matches(vpc("1.3.0-rc1", "")), q.Matches(aws("5.3.0")), q.Matches(git), q.Matches(public),
			q.Matches(Use{Kind: Tool, Source: "tofu", Version: "1.12.6"})}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", query, got, want)
		}
	}
	for _, bad := range []string{"", "acme/vpc/aws@", "acme/vpc/aws@next", "acme/vpc/aws@<", "acme/a/b/c", "acme/vpc aws"} {
		if q, err := ParseQuery(bad); err == nil {
			t.Errorf("%q is %+v", bad, q)
		}
	}
}

// The meaning of constraints is OpenTofu's.
func TestConstraints(t *testing.T) {
	for text, c := range map[string]struct{ yes, no []string }{
		"":                 {[]string{"0.1.0", "9.9.9"}, []string{"1.0.0-rc1"}},
		"1.2.3":            {[]string{"1.2.3"}, []string{"1.2.4", "1.2.3-rc1"}},
		"= 1.2":            {[]string{"1.2.0"}, []string{"1.2.1"}},
		"~> 1.2":           {[]string{"1.2.0", "1.9.0"}, []string{"1.1.9", "2.0.0"}},
		"~> 1.2.3":         {[]string{"1.2.3", "1.2.9"}, []string{"1.3.0", "1.2.2"}},
		"~> 1":             {[]string{"1.0.0", "2.0.0"}, []string{"0.9.0"}},
		">= 1.2, != 1.3.0": {[]string{"1.2.0", "1.3.1"}, []string{"1.3.0", "1.4.0-beta1"}},
		"> 1, <= 2.0":      {[]string{"1.0.1", "2.0.0"}, []string{"1.0.0", "2.0.1"}},
		"1.3.0-rc1":        {[]string{"1.3.0-rc1"}, []string{"1.3.0", "1.3.0-rc2"}},
	} {
		constraint, err := ParseConstraint(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for _, v := range c.yes {
			if !constraint.Allows(parse(v)) {
				t.Errorf("%q does not allow %s", text, v)
			}
		}
		for _, v := range c.no {
			if constraint.Allows(parse(v)) {
				t.Errorf("%q allows %s", text, v)
			}
		}
	}
}

func TestOutdated(t *testing.T) {
	x := indexOf(applied("a", 1, vpc("1.2.0", "~> 1.2"), aws("5.0.0")), applied("b", 1, vpc("2.0.0", "")), applied("c", 1, aws("5.3.0")), applied("d", 1, vpc("1.0.0", "1.0.0")))
	releases := func(_ context.Context, kind Kind, source string) ([]Release, bool) {
		if kind == Provider {
			return nil, false
		}
		gone := &Notice{Kind: Revoked, Reason: "it leaks"}
		return []Release{{Version: "3.0.0-rc1"}, {Version: "2.1.0", Notice: gone}, {Version: "2.0.0"}, {Version: "1.4.0"}, {Version: "1.2.0"}, {Version: "1.0.0", Notice: gone}}, true
	}
	var got []string
	for _, o := range x.Outdated(t.Context(), releases, everywhere) {
		got = append(got, fmt.Sprintf("%s %s %s: allowed %q, newest %q, from %s, notice %t", o.Stack, o.Kind, o.Version, o.Allowed, o.Newest, o.From, o.Notice != nil))
	}
	want := []string{
		`a module 1.2.0: allowed "1.4.0", newest "2.0.0", from registry, notice false`,
		`a provider 5.0.0: allowed "5.3.0", newest "5.3.0", from stacks, notice false`,
		`d module 1.0.0: allowed "", newest "2.0.0", from registry, notice true`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Runs that end while the stored entries are read are not lost, nor is what was stored.
func TestRunsBeforeTheStoredEntriesAreLoaded(t *testing.T) {
	stored := indexOf(applied("a", 1, vpc("1.2.0", "")), applied("b", 1, vpc("1.0.0", "")), applied("gone", 1, vpc("1.0.0", "")))
	x := NewIndex()
	if _, store := x.Ended(planned("a", 2, vpc("1.3.0", ""))); store || x.Complete() {
		t.Error("an entry without what was stored would replace it")
	}
	var entries []Entry
	for _, name := range []string{"a", "b"} {
		e, _ := stored.Entry("team", name)
		entries = append(entries, e)
	}
	changed := x.Load(entries)
	if len(changed) != 1 || changed[0].Stack.Name != "a" || !x.Complete() {
		t.Errorf("%+v", changed)
	}
	q, err := ParseQuery("acme/vpc/aws", "yuba.example.com")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"team/a [vpc] 1.2.0 applied since 10:01, a-2", "team/a [vpc] 1.3.0 planned since 10:02, a-2", "team/b [vpc] 1.0.0 applied since 10:01, b-1"}
	if diff := cmp.Diff(want, told(x.Users(q, everywhere))); diff != "" {
		t.Error(diff)
	}
	if got := CountOf(x.Users(q, everywhere)); got.Stacks != 2 || got.Versions["1.2.0"] != 1 {
		t.Errorf("%+v", got)
	}
}

func thousand() *Index {
	x := NewIndex()
	x.Load(nil)
	for i := range 1000 {
		var uses []Use
		for m := range 20 {
			uses = append(uses, Use{Kind: Module, Keys: []string{fmt.Sprint("module", m)}, Source: fmt.Sprintf("yuba.example.com/acme/module%d/aws", m), Version: fmt.Sprintf("1.%d.0", i%50), Constraint: "~> 1.0"})
		}
		x.Ended(applied(fmt.Sprint("s", i), 1, uses...))
	}
	return x
}

func TestMemoryOfAThousandStacks(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := thousand()
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("1000 stacks with 20 modules take %d KiB", grown>>10)
	if grown > 16<<20 {
		t.Errorf("1000 stacks with 20 modules take %d bytes", grown)
	}
	runtime.KeepAlive(x)
}

func BenchmarkUsersOfAThousandStacks(b *testing.B) {
	x := thousand()
	q, err := ParseQuery("acme/module7/aws@<1.10", "yuba.example.com")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n := len(x.Users(q, everywhere)); n != 200 {
			b.Fatal(n)
		}
	}
}

func BenchmarkOutdatedOfAThousandStacks(b *testing.B) {
	x := thousand()
	for b.Loop() {
		if n := len(x.Outdated(b.Context(), nil, everywhere)); n != 19600 {
			b.Fatal(n)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"acme/vpc/aws@<2", "hashicorp/aws", "git::ssh://git@example.com/a.git//b?ref=v1@~> 1.2, !=1.3", "@", "a@@1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQuery(text, "yuba.example.com")
		if err == nil {
			q.Matches(vpc("1.2.0", ""))
			q.Matches(Use{Kind: q.Kind, Source: text, Version: text})
		}
	})
}
