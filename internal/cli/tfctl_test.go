// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"
)

// Every call that the mapping names can be made: the command is there, and so are its flags and their forms.
func TestWhatReplacesTfctlIsThere(t *testing.T) {
	quotedCall := regexp.MustCompile(`"(yuba [^"]*)"`)
	for _, call := range tfctlCalls {
		calls := []string{call.yuba}
		for _, found := range quotedCall.FindAllStringSubmatch(call.note, -1) {
			calls = append(calls, found[1])
		}
		for _, line := range calls {
			if line == "" {
				continue
			}
			t.Run(line, func(t *testing.T) {
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
				if err := cmd.ParseFlags(rest); err != nil {
					t.Fatal(err)
				}
				if cmd.Args != nil {
					if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if call.yuba == "" && call.note == "" {
			t.Errorf("tfctl %s: nothing says what to do", call.tfctl)
		}
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
