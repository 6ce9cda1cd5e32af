// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, child := range cmd.Commands() {
		eachCommand(child, visit)
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	eachCommand(Command(), func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			switch {
			case cmd.Short == "" || cmd.Long == "":
				t.Error("no description")
			case strings.HasSuffix(cmd.Short, "."):
				t.Error("the short description ends with a full stop")
			}
			if !cmd.Runnable() {
				return
			}
			if cmd.Args == nil && !cmd.DisableFlagParsing {
				t.Error("it does not say how many arguments it takes")
			}
			for line := range strings.SplitSeq(cmd.Example, "\n") {
				if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "yuba") {
					t.Errorf("the line %q of the examples does not call yuba", line)
				}
			}
			if cmd.HasParent() && cmd.GroupID == "" && cmd.Parent() == cmd.Root() && cmd.Name() != "completion" {
				t.Error("it is in no group")
			}
		})
	})
}

func TestEveryCommandHasAPage(t *testing.T) {
	pages := Reference()
	eachCommand(Command(), func(cmd *cobra.Command) {
		if !cmd.HasParent() || cmd.Hidden {
			return
		}
		text, ok := pages[pageName(cmd)]
		if !ok {
			t.Errorf("%s has no page", cmd.CommandPath())
		}
		cmd.LocalNonPersistentFlags()
		for _, part := range []string{"# " + cmd.CommandPath() + "\n", cmd.Short} {
			if !strings.Contains(text, part) {
				t.Errorf("the page of %s lacks %q", cmd.CommandPath(), part)
			}
		}
	})
	if again := Reference(); len(again) != len(pages) || again["README.md"] != pages["README.md"] {
		t.Error("the pages are not the same when they are written again")
	}
	for _, line := range []string{"## Change stacks", "| `-n, --namespace string` |", "[`yuba deploy`](yuba_deploy.md)"} {
		if !strings.Contains(pages["README.md"], line) {
			t.Errorf("README.md lacks %q", line)
		}
	}
}
