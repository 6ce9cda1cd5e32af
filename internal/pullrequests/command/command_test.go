// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		want     []Command
		problems []Problem
	}{
		"nothing":                  {text: "Looks good to me"},
		"empty":                    {},
		"plan everything":          {text: "/yuba plan", want: []Command{{Verb: Plan}}},
		"plan some":                {text: "/yuba plan prod/network dns.internal prod/network", want: []Command{{Verb: Plan, Stacks: []string{"prod/network", "dns.internal"}}}},
		"among other lines":        {text: "Thanks!\r\n\r\n  /yuba  replan \r\nBye", want: []Command{{Verb: Replan}}},
		"several":                  {text: "/yuba plan a\n/yuba replan b", want: []Command{{Verb: Plan, Stacks: []string{"a"}}, {Verb: Replan, Stacks: []string{"b"}}}},
		"in capitals":              {text: "/Yuba PLAN", want: []Command{{Verb: Plan}}},
		"approve a commit":         {text: "/yuba approve --commit 1a2b3c4", want: []Command{{Verb: Approve, Commit: "1a2b3c4"}}},
		"ask for what follows":     {text: "/yuba impact", want: []Command{{Verb: Impact}}},
		"ask for a part of it":     {text: "/yuba impact net", problems: []Problem{{"net", "impact accepts no names"}}},
		"help":                     {text: "/yuba help", want: []Command{{Verb: Help}}},
		"no verb":                  {text: "/yuba", want: []Command{{Verb: Help}}},
		"tofu-controller's":        {text: "!replan", want: []Command{{Verb: Replan}}},
		"tofu-controller's, named": {text: "!replan please"},
		"in a sentence":            {text: "Type /yuba plan to plan"},
		"another program's":        {text: "/yubakey plan\n/yuba-other plan"},
		"quoted":                   {text: "> /yuba plan\n>/yuba plan"},
		"in a block of code":       {text: "```\n/yuba plan\n```\n~~~sh\n/yuba plan\n```\n~~~\n/yuba help", want: []Command{{Verb: Help}}},
		"in an open block of code": {text: "````\n/yuba plan\n```\n/yuba plan"},
		"indented code":            {text: "    /yuba plan\n\t/yuba plan"},
		"in a span of code":        {text: "`/yuba plan`"},
		"in an HTML comment":       {text: "<!--\n/yuba plan\n-->\n<!-- /yuba plan --> \n/yuba help <!-- x", want: []Command{{Verb: Help}}},
		"an unknown verb":          {text: "/yuba destroy", problems: []Problem{{"destroy", "it is not a command"}}},
		"applying before a merge":  {text: "/yuba apply --commit 1a2b3c4 net", want: []Command{{Verb: Apply, Commit: "1a2b3c4", Stacks: []string{"net"}}}},
		"releasing a lock":         {text: "/yuba unlock net", want: []Command{{Verb: Unlock, Stacks: []string{"net"}}}},
		"the stacks behind":        {text: "/yuba plan --impact net", problems: []Problem{{"--impact", "plan does not have such a flag"}}},
		"a flag with a value":      {text: "/yuba plan --target=a", problems: []Problem{{"--target=a", "plan does not have such a flag"}}},
		"approve a commit, inline": {text: "/yuba approve --commit=1a2b3c4d", want: []Command{{Verb: Approve, Commit: "1a2b3c4d"}}},
		"approving some plans":     {text: "/yuba approve net", problems: []Problem{{"net", "approve accepts no names"}}},
		"a hostile verb":           {text: "/yuba `@team/all`<img>|\u202e", problems: []Problem{{"??team/all??img???", "it is not a command"}}},
		"an option of git":         {text: "/yuba plan --upload-pack=evil", problems: []Problem{{"--upload-pack=evil", "plan does not have such a flag"}}},
		"a flag of another":        {text: "/yuba help --commit 1a2b3c4", problems: []Problem{{"--commit", "help does not have such a flag"}}},
		"the commit of a fork":     {text: "/yuba plan --commit 1a2b3c4 net", want: []Command{{Verb: Plan, Commit: "1a2b3c4", Stacks: []string{"net"}}}},
		"no commit":                {text: "/yuba approve --commit", problems: []Problem{{"", "a commit has 7 to 64 hexadecimal digits"}}},
		"half a commit":            {text: "/yuba approve --commit 1a2b", problems: []Problem{{"1a2b", "a commit has 7 to 64 hexadecimal digits"}}},
		"a path":                   {text: "/yuba plan ../../etc", problems: []Problem{{"../../etc", "it is not the name of a stack: NAME or NAMESPACE/NAME"}}},
		"a shell":                  {text: "/yuba plan $(id);x", problems: []Problem{{"$(id);x", "it is not the name of a stack: NAME or NAMESPACE/NAME"}}},
		"all":                      {text: "/yuba plan *", problems: []Problem{{"*", "it is not the name of a stack: NAME or NAMESPACE/NAME"}}},
		"help with names":          {text: "/yuba help me", problems: []Problem{{"me", "help accepts no names"}}},
		"a homoglyph":              {text: "/yubа plan"},
	} {
		got, problems := Parse(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(test.problems, problems); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	if got, _ := Parse(strings.Repeat("/yuba plan\n", 100)); len(got) != maxCommands {
		t.Errorf("%d commands", len(got))
	}
	many := "/yuba plan"
	for i := range maxStacks + 1 {
		many += fmt.Sprint(" s", i)
	}
	if got, problems := Parse(many); len(got) != 0 || len(problems) != 1 {
		t.Errorf("%v %v", got, problems)
	}
	if got, _ := Parse(strings.Repeat("x", maxText-len("\n/yuba plan ne")) + "\n/yuba plan network"); len(got) != 0 {
		t.Errorf("a cut line is a command: %v", got)
	}
}

func TestRights(t *testing.T) {
	for v, want := range map[Verb]forge.Right{Plan: forge.Write, Replan: forge.Write, Approve: forge.Write, Apply: forge.Write, Unlock: forge.Write, Impact: forge.Write, Help: forge.Read, "other": forge.Admin} {
		if got := v.Right(); got != want {
			t.Errorf("%s needs %v, want %v", v, got, want)
		}
	}
	if len(Verbs()) != len(verbs) {
		t.Error("help does not list all verbs")
	}
}

func TestOwnTextHasNoCommands(t *testing.T) {
	if got, problems := Parse(HelpText()); len(got)+len(problems) != 0 {
		t.Errorf("%v %v", got, problems)
	}
	if !strings.Contains(HelpText(), "| `/yuba approve --commit COMMIT [--plans DIGEST]` | write |") {
		t.Error(HelpText())
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"/yuba plan a/b --commit", "```\n/yuba plan", "<!-- /yuba", "!replan", "/yuba approve --commit=1234567"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		commands, problems := Parse(text)
		if len(commands)+len(problems) > maxCommands {
			t.Error("too many")
		}
		for _, c := range commands {
			if _, ok := verbs[c.Verb]; !ok {
				t.Errorf("%+v", c)
			}
			for _, s := range c.Stacks {
				if !name.MatchString(s) || strings.Contains(s, "..") && strings.Contains(s, "/..") {
					t.Errorf("%+v", c)
				}
			}
		}
		for _, p := range problems {
			if strings.ContainsAny(p.Word, "`@<>|&\n\u202e") || len(p.Word) > 60 {
				t.Errorf("%q", p.Word)
			}
		}
	})
}
