// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"strings"
	"testing"
)

var flagInReference = regexp.MustCompile("--([a-z][a-z-]+)")

// flagsOf are the flags in the reference of a command.
func flagsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	flags := map[string]bool{}
	for _, name := range []string{page, "README.md"} {
		for _, match := range flagInReference.FindAllStringSubmatch(string(read(t, "../../docs/reference/cli/"+name)), -1) {
			flags[match[1]] = true
		}
	}
	return flags
}

func TestTheArgumentsAreFlags(t *testing.T) {
	pages := map[string]map[string]bool{"controller": flagsOf(t, "yuba_controller.md"), "crds": flagsOf(t, "yuba_crds_install.md"), "queue": flagsOf(t, "yuba_queue.md")}
	eachSet(t, func(t *testing.T, _ string, r rendered) {
		for _, p := range pods(objects(t, r.manifests)) {
			words := append(append([]string{}, p.spec.Containers[0].Command...), p.spec.Containers[0].Args...)
			flags := pages[words[1]]
			if flags == nil {
				t.Fatalf("%s: an unknown command: %v", p.name, words)
			}
			for _, word := range words[2:] {
				name, ok := strings.CutPrefix(word, "--")
				if name, _, _ = strings.Cut(name, "="); ok && !flags[name] {
					t.Errorf("%s: yuba %s has no flag --%s", p.name, words[1], name)
				}
			}
		}
	})
}
