// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// difference is something that one machine and a cluster do in different ways.
type difference struct{ what, machine, cluster string }

// differences are all of them, in the order in which users meet them. Whatever is missing here is
// the same in both homes.
var differences = []difference{
	{"installation", "yuba up", "Helm chart charts/yuba"},
	{"API", "Yuba's own, with the data directory", "the cluster's"},
	{"users", "certificates, tokens, OIDC of Yuba", "those of the cluster"},
	{"runs", "processes of one runner, behind walls", "Pods in the stack's namespace"},
	{"identity of runs", "none", "ServiceAccount of spec.serviceAccountName"},
	{"spec.runnerPodTemplate", "only its env", "all fields"},
	{"network of runs", "the machine's, or --run-network isolated", "NetworkPolicies"},
	{"providers and tools", "one store for all stacks", "each Pod downloads them"},
	{"cloud tokens", "issued by Yuba's API", "issued by the cluster's API"},
	{"sources, Kustomizations", "Yuba", "Flux, or Yuba with sources.enabled"},
	{"logs, plans, state versions", "directory or bucket", "volume or bucket"},
	{"when the server dies", "restart it; runs continue", "another replica takes over; runs continue"},
	{"backup", "yuba backup", "yuba backup -n NAMESPACE"},
	{"shells", "yuba shell", "not yet"},
}

func newHomesTopic(root *cobra.Command) *cobra.Command {
	var b strings.Builder
	b.WriteString("Yuba works on one machine (\"yuba up\") or in a Kubernetes cluster (\"yuba controller\", installed by the Helm chart).\nObjects, commands and behaviour are the same, except for:\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  \tONE MACHINE\tCLUSTER") //nolint:errcheck // of a buffer
	for _, d := range differences {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", d.what, d.machine, d.cluster) //nolint:errcheck // of a buffer
	}
	w.Flush() //nolint:errcheck // of a buffer
	up, controller := flagsOf(root, "up"), flagsOf(root, "controller")
	fmt.Fprintf(&b, "\nOnly \"yuba up\" has these flags:\n  %s\n", wrapped(without(up, controller)))
	fmt.Fprintf(&b, "\nOnly \"yuba controller\" has these:\n  %s", wrapped(without(controller, up)))
	return &cobra.Command{Use: "homes", Short: "What differs between one machine and a cluster", Long: b.String()}
}

// flagsOf are the flags of a command of the root.
func flagsOf(root *cobra.Command, name string) (flags []string) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == name {
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" {
					flags = append(flags, "--"+f.Name)
				}
			})
		}
	}
	return flags
}

func without(flags, others []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return slices.Contains(others, f) })
}

// wrapped joins flags to lines that are as long as those of other help.
func wrapped(flags []string) string {
	var b strings.Builder
	line := 0
	for _, f := range flags {
		if line+len(f) > 110 {
			b.WriteString("\n  ")
			line = 0
		} else if line > 0 {
			b.WriteString(" ")
		}
		b.WriteString(f)
		line += len(f) + 1
	}
	return b.String()
}
