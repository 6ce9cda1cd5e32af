// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

func TestFlagsOfYubaBeforeKubectlsCommand(t *testing.T) {
	cases := map[string]struct {
		args, rest []string
		dir        string
	}{
		"with a value of its own":        {[]string{"--data-dir", "d", "get", "ns"}, []string{"get", "ns"}, "d"},
		"with a joined value":            {[]string{"--data-dir=d", "get"}, []string{"get"}, "d"},
		"kubectl's own are left to it":   {[]string{"-n", "x", "get"}, []string{"-n", "x", "get"}, ""},
		"what follows the command stays": {[]string{"get", "--data-dir", "d"}, []string{"get", "--data-dir", "d"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := &session.App{Console: &ui.Console{}}
			rest, err := takeOwnFlags(a, &cobra.Command{Use: "yuba"}, c.args)
			if err != nil || a.DataDir != c.dir {
				t.Errorf("data directory %q, %v", a.DataDir, err)
			}
			if diff := cmp.Diff(c.rest, rest); diff != "" {
				t.Error(diff)
			}
		})
	}
}
