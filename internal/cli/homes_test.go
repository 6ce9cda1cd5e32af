// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
)

func TestTheHomesTopic(t *testing.T) {
	text := newHomesTopic(Command()).Long
	for line := range strings.Lines(text) {
		if len(line) > 121 {
			t.Errorf("a line has %d columns: %s", len(line), line)
		}
	}
	machine, cluster, _ := strings.Cut(text, "Only \"yuba controller\"")
	for flag, part := range map[string]string{"--api-address": machine, "--leader-elect": cluster} {
		if !strings.Contains(part, flag) || strings.Count(text, flag) != 1 {
			t.Errorf("%s is not in its list alone:\n%s", flag, text)
		}
	}
	if strings.Contains(text, "--concurrency") {
		t.Error("a flag of both is listed")
	}
}
