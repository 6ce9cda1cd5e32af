// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Every call that a mapping names can be made: the command is there, and so are its flags and their forms.
func TestWhatReplacesOtherProgramsIsThere(t *testing.T) {
	for program, calls := range map[string][]otherCall{"tfctl": tfctlCalls, "flux": fluxCalls} {
		t.Run(program, func(t *testing.T) { replaced(t, program, calls) })
	}
}

func replaced(t *testing.T, program string, calls []otherCall) {
	quotedCall := regexp.MustCompile(`"(yuba [^"]*)"`)
	for _, call := range calls {
		lines := []string{call.yuba}
		for _, found := range quotedCall.FindAllStringSubmatch(call.note, -1) {
			lines = append(lines, found[1])
		}
		for _, line := range lines {
			if line != "" {
				t.Run(line, func(t *testing.T) { callable(t, line) })
			}
		}
		if call.yuba == "" && call.note == "" {
			t.Errorf("%s %s: no note explains what to do", program, call.other)
		}
	}
}

func callable(t *testing.T, line string) {
	root := Command()
	cmd, rest, err := root.Find(strings.Fields(line)[1:])
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Fields(line); len(words) > 1 && cmd == root && !strings.HasPrefix(words[1], "-") {
		t.Fatalf("there is no command %s", words[1])
	}
	if cmd.DisableFlagParsing {
		return // they are kubectl's
	}
	if cmd.HasSubCommands() && len(strings.Fields(line)) > 2 && strings.ToLower(rest[0]) == rest[0] && !strings.HasPrefix(rest[0], "-") {
		t.Errorf("%q is taken for a name", rest[0])
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatal(err)
	}
	if cmd.Args != nil && cmd.Flags().NArg() > 0 {
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Error(err)
		}
	}
}

// These are the commands of flux 2.7 that users of sources, Kustomizations and alerts call.
func TestEveryCallOfFluxIsMapped(t *testing.T) {
	text := newFluxTopic().Long
	for _, call := range []string{
		"bootstrap", "build artifact", "build kustomization", "check", "completion", "create kustomization", "create receiver", "create secret git", "create secret oci", "create source git",
		"delete kustomization", "diff kustomization", "events", "export kustomization", "get all", "create image repository", "get images", "reconcile image repository", "suspend image update", "get kustomizations", "get receivers", "get sources git", "get helmreleases", "install",
		"list artifacts", "logs", "pull artifact", "push artifact", "reconcile kustomization", "reconcile receiver", "reconcile source git", "resume source git", "stats",
		"suspend kustomization", "tag artifact", "trace", "tree kustomization", "uninstall", "version",
	} {
		if !strings.Contains(text, "\n  flux "+call) {
			t.Errorf("flux %s is not mapped", call)
		}
	}
}

func TestHelpAboutWhatIsNotThere(t *testing.T) {
	plain(t, "help", "depoly").want(t, ui.ExitUsage, "", `there is no command "yuba depoly". Did you mean deploy?`)
	for word, want := range map[string]string{"apply": "deploy", "describe": "status", "server": "up", "rm": "delete", "history": "runs"} {
		plain(t, word).want(t, ui.ExitUsage, "", `there is no command "yuba `+word+`". Did you mean `+want)
	}
	plain(t, "help", "state", "nope").want(t, ui.ExitUsage, "", `there is no command "yuba state nope"`)
	if got := plain(t, "help", "reconcile", "source", "git"); got.code != ui.ExitOK || !strings.Contains(got.out, "yuba reconcile source git NAME") {
		t.Errorf("got %d: %s%s", got.code, got.out, got.news)
	}
	if got := plain(t, "help"); got.code != ui.ExitOK || !strings.Contains(got.out, "Sources, Kustomizations and artifacts:") {
		t.Errorf("got %d: %s%s", got.code, got.out, got.news)
	}
}

// These are the commands and flags of tfctl 0.16.5.
func TestEveryCallOfTfctlIsMapped(t *testing.T) {
	text := newTfctlTopic().Long
	for verb, flags := range map[string][]string{
		"create NAME": {"--path", "--source", "--interval", "--export"}, "delete NAME": nil, "force-unlock NAME": {"--lock-id"},
		"install": {"--version", "--export"}, "reconcile NAME": nil, "approve NAME": {"-f"}, "replan NAME": nil,
		"resume": {"--all"}, "suspend": {"--all"}, "uninstall": nil, "version": nil, "get": nil, "get NAME": nil, "show plan NAME": nil,
		"break-glass NAME": nil,
		"logs":             {"--level", "--follow", "--tail", "--name", "--controller-namespace", "--all-namespaces", "--since", "--since-time", "--runner"},
		"--terraform":      nil, "--kubeconfig": nil,
	} {
		lines := regexp.MustCompile(`(?m)^  tfctl `+regexp.QuoteMeta(verb)+`( .*)?$`).FindAllString(text, -1)
		if len(lines) == 0 {
			t.Errorf("tfctl %s is not mapped", verb)
		}
		for _, flag := range flags {
			if !strings.Contains(strings.Join(lines, " ")+" ", flag+" ") {
				t.Errorf("tfctl %s %s is not mapped", verb, flag)
			}
		}
	}
}
