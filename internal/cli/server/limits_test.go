// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestLimitsOfRunsAreReadFromFlags(t *testing.T) {
	type limits struct {
		Of, Together run.Resources
		Files        int64
	}
	standard := run.DefaultLimits()
	for _, c := range []struct {
		args  string
		want  limits
		wrong string
	}{
		{"", limits{standard.Run, run.Resources{}, standard.OpenFiles}, ""},
		{"--run-memory=4Gi --run-processes=512 --run-disk=1Gi --run-files=1M --run-open-files=1k", limits{run.Resources{Processes: 512, MemoryBytes: 4 << 30, DiskBytes: 1 << 30, Files: 1_000_000}, run.Resources{}, 1000}, ""},
		{"--run-memory=0 --run-processes=0 --run-disk=0 --run-files=0 --run-open-files=0", limits{run.Resources{MemoryBytes: run.Unlimited}, run.Resources{}, 0}, ""},
		{"--namespace-memory=8Gi --namespace-processes=9 --namespace-disk=1Mi", limits{standard.Run, run.Resources{Processes: 9, MemoryBytes: 8 << 30, DiskBytes: 1 << 20}, standard.OpenFiles}, ""},
		{"--run-memory=much", limits{}, "--run-memory much: want a number such as 512 or 4Gi, or 0 for no limit"},
		{"--namespace-disk=-1", limits{}, "--namespace-disk -1"},
	} {
		cmd := &cobra.Command{Use: "up"}
		addLimitFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		var o server.Common
		err := completeLimits(cmd, &o)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", c.args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if diff := cmp.Diff(c.want, limits{*o.RunResources, *o.NamespaceResources, *o.RunOpenFiles}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}
