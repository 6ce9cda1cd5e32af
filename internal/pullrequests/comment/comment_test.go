// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"flag"
	"fmt"
	"html"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	gitHub    = Style{Limit: 65536, Details: true, Hidden: true}
	bitbucket = Style{Limit: 32768}
)

const changes = `  # aws_vpc.main will be created
  + resource "aws_vpc" "main" {
      + cidr_block = "10.0.0.0/16"
    }
  # aws_subnet.a must be replaced
-/+ resource "aws_subnet" "a" {
      ~ cidr_block = "10.0.1.0/24" -> "10.0.2.0/24"
      - owner      = "@alice" -> null
    }
`

func stack(name string, c Counts) Stack {
	return Stack{Name: name, State: Planned, Counts: c, Changes: changes, Link: "https://yuba.example.com/pr/5/" + name}
}

var reports = map[string]Report{
	"mixed": {Marker: "yuba:acme/infra:5", Commit: "1111111111111111111111111111111111111111", Link: "https://yuba.example.com/pr/5", Environment: "production",
		Stacks: []Stack{
			{Name: "prod/same-2", State: Planned, Counts: Counts{Add: 1}, Changes: "  + a\n"},
			{Name: "prod/same-1", State: Planned, Counts: Counts{Add: 1}, Changes: "  + a\n"},
			{Name: "prod/other", State: Planned, Counts: Counts{Add: 1}, Changes: "  + b\n"},
			stack("prod/network", Counts{Add: 1, Replace: 1}),
			{Name: "prod/broken", State: Failed, Problems: []Problem{{Summary: "Unsupported argument", Detail: "An argument named \"cidr\" is not expected here.", Path: "network/main.tf", Line: 12}}},
			{Name: "prod/public", State: Planned, Counts: Counts{Change: 1}, Changes: "  ~ c\n", Verdicts: []Verdict{
				{Policy: "no-public-buckets", Message: "bucket is public", Refuses: true}, {Policy: "tags", Message: "the tag team is missing"}}},
			{Name: "prod/warned", State: Planned, Counts: Counts{Change: 2}, Verdicts: []Verdict{{Policy: "tags", Message: "the tag team is missing"}}},
			{Name: "prod/idle", State: Planned},
			{Name: "prod/outputs", State: Planned, Outputs: 2},
			{Name: "prod/later", State: Waiting},
			{Name: "prod/now", State: Running},
			{Name: "prod/fork", State: Held, Reason: "a member must ask for the plan of a fork: /yuba plan"},
			{Name: "prod/new", State: Planned, Fate: Created, Counts: Counts{Add: 3}, Fields: []Field{{Path: "spec.path", After: "./new"}}},
			{Name: "prod/old", State: Planned, Fate: Deleted, Counts: Counts{Destroy: 4}},
			{Name: "prod/moved", State: Planned, Counts: Counts{Import: 1, Move: 2, Forget: 3}, Fields: []Field{{Path: "spec.interval", Before: "1h", After: "2h"}}},
		},
		Consequences: []Consequence{{Name: "prod/app", Level: 1, Effect: Changes, Counts: Counts{Change: 1}, Changes: "  ~ app\n", Inputs: []Input{{"prod/network", "vpc_id", `"vpc-1"`, `"vpc-2"`}}},
			{Name: "prod/edge", Level: 2, Effect: Breaks, Because: []string{"it reads base.subnets, which is not a list any more"}}, {Name: "prod/dns", Level: 1, Effect: MayRun, Because: []string{"contract base 1.0"}},
			{Name: "prod/apps", Level: 1, Effect: Changes, Counts: Counts{Change: 1}, Changes: "  ~ app\n", Inputs: []Input{{"prod/network", "vpc_id", `"vpc-1"`, `"vpc-2"`}}}}},
	"breaking": {Marker: "m", OnlyBreaking: true, MoreBehind: 2, BehindBusy: true, Stacks: []Stack{{Name: "prod/network", State: Planned, Outputs: 1, Changes: "  ~ base\n"}},
		Consequences: []Consequence{{Name: "prod/app", Level: 1, Effect: Breaks, Inputs: []Input{{"prod/network", "base.cidr", `"10.0.0.0/16"`, "(sensitive value)"}}, Because: []string{"it reads base.vpc, which is missing"}},
			{Name: "prod/here", Level: 1, Effect: Breaks, Here: true, Because: []string{"it reads base.vpc, which is missing"}}, {Name: "prod/later", Level: 2, Effect: MayRun}, {Name: "prod/next", Level: 1, Effect: Runs}}},
	"nothing":  {Marker: "m", Link: "https://yuba.example.com/pr/5"},
	"conflict": {Marker: "m", Problems: []Problem{{Summary: "The pull request conflicts with main", Detail: "Merge main into it."}}},
	"applied":  {Marker: "m", Stacks: []Stack{{Name: "prod/network", State: Applied, Counts: Counts{Add: 2}}}},
	"hostile": {Marker: "m --> <script>", Environment: "`@everyone`", Commit: "`x`", Link: "javascript:alert(1)", Stacks: []Stack{
		{Name: "prod/`@alice` | <img src=x>", State: Failed, Link: "https://yuba.example.com/a)b|c`d@e", Problems: []Problem{
			{Summary: "</code></summary> @team/all [x](http://evil) \u202egnp", Detail: "```\n@alice <b>\n````\n\x1b[31m\u2066 -->", Path: "a`b.tf\nx", Line: 1}}},
		{Name: "prod/plan", State: Planned, Counts: Counts{Destroy: 1}, Changes: "  - a = \"```\"\n````\n@bob </details>\n", Verdicts: []Verdict{{Policy: "p|q", Message: "a\nb @carol #12 !7"}}},
	}},
}

func TestGolden(t *testing.T) {
	for name, r := range reports {
		for kind, style := range map[string]Style{"github": gitHub, "bitbucket": bitbucket} {
			path := filepath.Join("testdata", name+"."+kind+".md")
			got := Render(r, style)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (run with -update to accept): %s", path, diff)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	for name, want := range map[string]forge.Status{
		"mixed":    {Result: forge.Failure, Description: "15 stacks: 1 failed, 1 refused by policy, 4 to destroy, 1 to replace, 7 to add, 3 to change, 1 to import, 2 to move, 3 to forget, 2 in progress, 1 held, 1 with warnings, 1 created, 1 deleted, breaks 1 stack behind", URL: "https://yuba.example.com/pr/5", Annotations: []forge.Annotation{{Path: "network/main.tf", Line: 12, Title: "Unsupported argument", Message: "An argument named \"cidr\" is not expected here."}}},
		"nothing":  {Result: forge.Success, Description: "This pull request changes no stack", URL: "https://yuba.example.com/pr/5"},
		"conflict": {Result: forge.Failure, Description: "This pull request cannot be planned"},
		"breaking": {Result: forge.Failure, Description: "1 stack: 1 changed output, breaks 1 stack behind"},
		"applied":  {Result: forge.Success, Description: "1 stack: 1 applied, 2 to add"},
	} {
		want.Name = "yuba"
		if diff := cmp.Diff(want, Status("yuba", reports[name])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	waits := Report{Stacks: []Stack{{Name: "a", State: Running}, {Name: "b", State: Planned}}}
	if got := Status("yuba", waits); got.Result != forge.Pending || got.Description != "2 stacks: no changes, 1 in progress" {
		t.Errorf("%+v", got)
	}
	follows := Report{Stacks: []Stack{{Name: "b", State: Planned}}, BehindBusy: true}
	if got := Status("yuba", follows); got.Result != forge.Pending {
		t.Errorf("before it is known what breaks: %+v", got)
	}
	follows.BehindBusy, follows.Consequences = false, []Consequence{{Name: "c", Effect: Fails}, {Name: "d", Effect: Breaks, Here: true}}
	if got := Status("yuba", follows); got.Result != forge.Failure || !strings.HasSuffix(got.Description, "breaks 1 stack behind") {
		t.Errorf("%+v", got)
	}
	first := Report{Stacks: []Stack{{Name: "a", State: Waiting}}}
	if got := Status("yuba", first); got.Description != "1 stack: 1 in progress" {
		t.Errorf("%+v", got)
	}
}

func TestFourHundredStacksFit(t *testing.T) {
	r := Report{Marker: "m", Link: "https://yuba.example.com/pr/5"}
	for i := range 400 {
		s := stack(fmt.Sprintf("prod/stack-%03d", i), Counts{Add: i % 7, Destroy: i % 3})
		s.Changes = strings.Repeat(changes, i%40+1)
		r.Stacks = append(r.Stacks, s)
	}
	for _, limit := range []int{1, smallest, 10000, 32768, 65536, 1_000_000} {
		text := Render(r, Style{Limit: limit, Details: true, Hidden: true})
		if len(text) > max(limit, smallest) {
			t.Errorf("%d bytes, the limit is %d", len(text), limit)
		}
		if !strings.Contains(text, "**400 stacks: 399 to destroy, 1197 to add**") || !strings.Contains(text, "This comment leaves out ") || !strings.Contains(text, "[Details](https://yuba.example.com/pr/5)") {
			t.Errorf("within %d bytes: %.600s", limit, text)
		}
	}
	if text := Render(r, gitHub); len(text) < 8000 {
		t.Errorf("only %d of 65536 bytes are used", len(text))
	}
}

// hostile are parts of foreign text. All contain the word evil.
var hostile = []string{"@evil", "`evil", "``` evil", "\n```\nevil @evil\n", "<evil>", "</details>evil", "</code>evil", "-->evil", "| evil |", "[evil](https://evil)", "![evil](//evil)",
	"\u202eevil", "\u2066evil", "\x1b[31mevil", "evil\x00", "\xff\xfeevil", "#evil", "*evil*", "\\evil", "\r\n# evil", "https://evil", "evil &lt;", "~~~\nevil", "    evil", "~ evil", "- evil",
	"\u200b@evil", "＠evil", "<!-- evil", "$evil$", ":evil:", "\u3164evil", strings.Repeat("evil`", 200)}

func word(r *rand.Rand) string {
	var out strings.Builder
	for range r.Intn(4) {
		out.WriteString(hostile[r.Intn(len(hostile))])
		out.WriteString([]string{"", " ", "\n", "x"}[r.Intn(4)])
	}
	return out.String()
}

func anyReport(r *rand.Rand) Report {
	number := func() int { return max(r.Intn(8)-4, 0) }
	out := Report{Marker: "yuba:" + word(r), Environment: word(r), Commit: word(r), Link: []string{"", "https://yuba.example.com/" + word(r), word(r)}[r.Intn(3)]}
	out.OnlyBreaking, out.MoreBehind, out.BehindNote = r.Intn(2) == 0, number(), word(r)
	problems := func() (list []Problem) {
		for range number() {
			list = append(list, Problem{word(r), strings.Repeat(word(r), r.Intn(100)), word(r), number()})
		}
		return list
	}
	out.Problems = problems()
	for range r.Intn(60) {
		s := Stack{Name: "a/" + word(r), State: []State{Waiting, Running, Planned, Failed, Held, Applied}[r.Intn(6)], Fate: []Fate{Stays, Created, Deleted}[r.Intn(3)], Reason: word(r),
			Counts: Counts{number(), number(), number(), number(), number(), number(), number()}, Outputs: number(), Changes: strings.Repeat("  ~ "+word(r)+"\n", r.Intn(200)), Problems: problems(), Link: out.Link}
		for range number() {
			s.Verdicts = append(s.Verdicts, Verdict{word(r), word(r), r.Intn(2) == 0})
			s.Fields = append(s.Fields, Field{word(r), word(r), word(r)})
			out.Consequences = append(out.Consequences, Consequence{Name: word(r), Level: r.Intn(9), Effect: []Effect{Breaks, Fails, Changes, Runs, Unknown}[r.Intn(5)], Here: r.Intn(3) == 0,
				Inputs: []Input{{word(r), word(r), word(r), word(r)}}, Because: []string{word(r)}, Counts: Counts{Destroy: number()}, Changes: strings.Repeat("  ~ "+word(r)+"\n", r.Intn(50))})
		}
		out.Stacks = append(out.Stacks, s)
	}
	return out
}

var (
	ours   = regexp.MustCompile(`</?details( open)?>|</?summary>|^<!-- [A-Za-z0-9:./_-]+ -->$`)
	inHTML = regexp.MustCompile(`<code>([^<>]*)</code>`)
	links  = regexp.MustCompile(`\]\(https?://[^()<>\s|` + "`" + `@]+\)`)
)

// outside returns what of a comment is Markdown of ours: not in blocks, spans or elements of code.
func outside(t *testing.T, text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		ticks := len(line) - len(strings.TrimLeft(line, "`"))
		switch {
		case fence != "":
			if ticks >= len(fence) && strings.Trim(line, "`") == "" {
				fence = ""
			}
			continue
		case ticks >= 3:
			fence = line[:ticks]
			continue
		}
		line = inHTML.ReplaceAllStringFunc(line, func(element string) string {
			inner := inHTML.FindStringSubmatch(element)[1]
			if html.EscapeString(html.UnescapeString(inner)) != inner {
				t.Errorf("not escaped: %q", inner)
			}
			return ""
		})
		parts := strings.Split(line, "`")
		if len(parts)%2 == 0 {
			t.Errorf("an open span of code: %q", line)
		}
		for i, part := range parts {
			if i%2 == 0 {
				out.WriteString(part)
			}
		}
		out.WriteString("\n")
	}
	if fence != "" {
		t.Errorf("an open block of code: %.300s", text)
	}
	return out.String()
}

func TestHostileText(t *testing.T) {
	for seed := range int64(100) {
		r := rand.New(rand.NewSource(seed)) //nolint:gosec // reproducible
		report := anyReport(r)
		style := Style{Limit: []int{0, smallest, 5000, 32768, 65536, 1_000_000}[r.Intn(6)], Details: r.Intn(2) == 0, Hidden: r.Intn(2) == 0}
		text := Render(report, style)
		if len(text) > max(style.Limit, smallest) {
			t.Errorf("seed %d: %d bytes, the limit is %d", seed, len(text), style.Limit)
		}
		if !strings.Contains(text, Mark(report.Marker)) {
			t.Errorf("seed %d: the marker %q is missing", seed, Mark(report.Marker))
		}
		first, rest, _ := strings.Cut(text, "\n")
		if !regexp.MustCompile(`^(<!-- [A-Za-z0-9:./_-]+ -->|\[//\]: # \([A-Za-z0-9:./_-]+\))$`).MatchString(first) {
			t.Errorf("seed %d: the first line is %q", seed, first)
		}
		left := ours.ReplaceAllString(links.ReplaceAllString(outside(t, rest), "]"), "")
		if strings.Contains(left, "evil") || strings.ContainsAny(left, "<>@\u202e\u2066\x1b\x00") {
			t.Fatalf("seed %d: foreign text is outside code: %q in %s", seed, left, text)
		}
		if strings.ContainsAny(text, "\u202e\u2066\x1b\x00\u3164") || strings.ToValidUTF8(text, "") != text {
			t.Errorf("seed %d: invisible characters", seed)
		}
		slices.Reverse(report.Stacks)
		if again := Render(report, style); len(again) > max(style.Limit, smallest) {
			t.Errorf("seed %d: reversed, %d bytes", seed, len(again))
		}
	}
}

func TestAnEqualReportHasAnEqualComment(t *testing.T) {
	r := reports["mixed"]
	shuffled := r
	shuffled.Stacks = slices.Clone(r.Stacks)
	slices.Reverse(shuffled.Stacks)
	if diff := cmp.Diff(Render(r, gitHub), Render(shuffled, gitHub)); diff != "" {
		t.Error(diff)
	}
}

func TestWholeComments(t *testing.T) {
	r := Report{Marker: "yuba:x", Commit: "0123456789abcdef", Stacks: []Stack{{Name: "prod/a", State: Planned, Counts: Counts{Add: 1}, Changes: "  + a\n"}}}
	if _, whole := RenderWhole(r, gitHub); !whole {
		t.Error("a small comment is not whole")
	}
	for i := range 500 {
		r.Consequences = append(r.Consequences, Consequence{Name: fmt.Sprintf("prod/%d", i), Effect: Changes, Changes: strings.Repeat(fmt.Sprintf("  ~ %d\n", i), 1000)})
	}
	if text, whole := RenderWhole(r, gitHub); !whole || !strings.Contains(text, "+   a") || !strings.Contains(text, "details of the stacks behind") {
		t.Error("a comment without all of the stacks behind is not whole")
	}
	r.Stacks[0].Changes = strings.Repeat("  + a line of changes\n", 10_000)
	if _, whole := RenderWhole(r, gitHub); whole {
		t.Error("a comment without all changes is whole")
	}
	r.Stacks[0].Changes = ""
	for i := range 2000 {
		r.Stacks = append(r.Stacks, Stack{Name: fmt.Sprintf("prod/%d", i), State: Planned, Counts: Counts{Add: i + 2}})
	}
	if _, whole := RenderWhole(r, gitHub); whole {
		t.Error("a comment without all rows is whole")
	}
}

func FuzzRender(f *testing.F) {
	for _, h := range hostile {
		f.Add(h, h, h)
	}
	f.Fuzz(func(t *testing.T, name, message, changes string) {
		r := Report{Marker: name, Stacks: []Stack{{Name: name, State: Planned, Counts: Counts{Destroy: 1}, Changes: changes, Verdicts: []Verdict{{name, message, true}}}}}
		if text := Render(r, bitbucket); len(text) > bitbucket.Limit || !strings.Contains(text, Mark(name)) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}
