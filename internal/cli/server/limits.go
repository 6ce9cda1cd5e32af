// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// halfTheMemory is how --run-memory says that a run may have half of what the machine or the service has.
const halfTheMemory = "half"

// addLimitFlags adds the flags that bound what runs take.
func addLimitFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("run-memory", halfTheMemory, "how much memory a run may have with all that it starts, such as 4Gi; half is half of what the machine or the service has, 0 no limit but that of all runs together")
	flags.String("run-processes", "1024", "how many processes and threads a run may have; 0 for any number")
	flags.String("run-open-files", "16384", "how many files and connections each process of a run may have open; 0 for as many as the server")
	flags.String("run-disk", "16Gi", "how large the directories of a run may become; 0 for any size")
	flags.String("run-files", "1000000", "how many files and directories a run may have in its directories; 0 for any number")
	flags.String("namespace-memory", "0", "how much memory all runs of a namespace may have together; 0 for no limit")
	flags.String("namespace-processes", "0", "how many processes and threads all runs of a namespace may have together; 0 for any number")
	flags.String("namespace-disk", "0", "how large the directories of all runs at work of a namespace may become together; 0 for any size")
}

// completeLimits reads what the flags say of what runs may take.
func completeLimits(cmd *cobra.Command, o *server.Common) error {
	var of, together run.Resources
	var files int64
	for _, flag := range []struct {
		name string
		to   *int64
	}{
		{"run-memory", &of.MemoryBytes}, {"run-processes", &of.Processes}, {"run-disk", &of.DiskBytes}, {"run-files", &of.Files}, {"run-open-files", &files},
		{"namespace-memory", &together.MemoryBytes}, {"namespace-processes", &together.Processes}, {"namespace-disk", &together.DiskBytes},
	} {
		text := cmd.Flag(flag.name).Value.String()
		if flag.name == "run-memory" && text == halfTheMemory {
			continue
		}
		most, err := resource.ParseQuantity(text)
		if err != nil || most.Sign() < 0 || most.Value() < 0 {
			return ui.UsageErrorf(cmd, "--%s %s: want a number such as 512 or 4Gi, or 0 for no limit", flag.name, text)
		}
		*flag.to = most.Value()
		if flag.name == "run-memory" && most.IsZero() {
			*flag.to = run.Unlimited
		}
	}
	o.RunResources, o.NamespaceResources, o.RunOpenFiles = &of, &together, &files
	return nil
}
