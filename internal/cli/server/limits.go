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

// halfTheMemory is the value of --run-memory for half the memory of the machine or the service.
const halfTheMemory = "half"

func addLimitFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("run-memory", halfTheMemory, "maximum memory of a run with all its processes, such as 4Gi; half means half the memory of the machine or the service, 0 only the limit of all runs together")
	flags.String("run-processes", "1024", "maximum number of processes and threads of a run; 0 for no limit")
	flags.String("run-open-files", "16384", "maximum number of open files and connections of each process of a run; 0 for the limit of the server")
	flags.String("run-disk", "16Gi", "maximum size of the directories of a run; 0 for no limit")
	flags.String("run-files", "1000000", "maximum number of files and directories of a run; 0 for no limit")
	flags.String("namespace-memory", "0", "maximum memory of all runs of a namespace together; 0 for no limit")
	flags.String("namespace-processes", "0", "maximum number of processes and threads of all runs of a namespace together; 0 for no limit")
	flags.String("namespace-disk", "0", "maximum size of the directories of all running runs of a namespace together; 0 for no limit")
}

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
