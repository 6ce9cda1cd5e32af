// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// otherCall is a call of another program, its equivalent if there is one, and a note.
type otherCall struct{ other, yuba, note string }

var tfctlCalls = []otherCall{
	{"create NAME --source KIND/NAME --path DIR --interval 15m", "yuba create NAME --source KIND/NAME --path DIR --interval 15m", "The interval may be left out."},
	{"create NAME --source KIND/NAME --export", "yuba create NAME --source KIND/NAME --export", ""},
	{"get", "yuba list", "Use -A for all namespaces, -l for labels, -o for wide, json, yaml or name."},
	{"get NAME", "yuba list NAME", "\"yuba get NAME\" does the same. \"yuba status NAME\" shows more, and the next step."},
	{"show plan NAME", "yuba plan NAME", "\"yuba show plan NAME\" does the same. Sensitive values are not shown."},
	{"approve NAME -f FILE", "yuba approve NAME -f FILE", "The file keeps its layout and comments. Without -f the stack itself is changed."},
	{"replan NAME", "yuba replan NAME --wait --timeout 2m", "Without --wait it only requests the plan."},
	{"reconcile NAME", "yuba reconcile NAME", "It shows the run and waits; --wait=false does not wait."},
	{"suspend NAME", "yuba suspend NAME", ""},
	{"suspend --all", "yuba suspend --all", "-A does the same: all stacks of the namespace. --all-namespaces suspends those of all namespaces."},
	{"resume NAME", "yuba resume NAME", ""},
	{"resume --all", "yuba resume --all", ""},
	{"force-unlock NAME --lock-id ID", "yuba force-unlock NAME --lock-id ID", "The lock is released at once, and the stack's object is not changed."},
	{"break-glass NAME", "yuba shell NAME", "\"yuba break-glass NAME\" does the same. Run it on the machine that executes the runs."},
	{"logs --runner --name NAME", "yuba logs NAME", "The log of the last run stays; --run ID shows that of another run."},
	{"logs --runner --name NAME --follow", "yuba logs NAME --follow", ""},
	{"logs --name NAME --level error", "yuba logs NAME --level error", "This level and above."},
	{"logs --name NAME --tail 20 --since 5m", "yuba logs NAME --tail 20 --since 5m", ""},
	{"logs --name NAME --since-time 2026-01-02T15:04:05Z", "yuba logs NAME --since-time 2026-01-02T15:04:05Z", ""},
	{"logs --controller-namespace NAMESPACE", "", "The server's own log is its standard error, such as: journalctl -u yuba"},
	{"logs --all-namespaces", "yuba kubectl get events --all-namespaces", "It lists what happened to the stacks. \"yuba runs NAME\" lists the runs, with reasons and outcomes."},
	{"delete NAME", "yuba delete NAME", "It waits until the stack is gone; --wait=false does not."},
	{"version", "yuba version", ""},
	{"install --version VERSION", "yuba crds install --roles", "It installs the kinds in a cluster; the Helm chart installs Yuba, too. \"yuba up\" needs neither."},
	{"install --export", "yuba crds print", "It prints the kinds. \"helm template\" prints everything."},
	{"uninstall", "", "Stop the program. Stacks, states and resources stay."},
	{"--kubeconfig FILE --context NAME --namespace NAME", "yuba --kubeconfig FILE --context NAME --namespace NAME", "The default namespace is that of the context, not flux-system."},
	{"--server URL --token TOKEN --as USER --cluster NAME --user NAME", "yuba --server URL --token-file FILE --as USER --cluster NAME --user NAME", "--token TOKEN works as well, but every user of the machine sees it."},
	{"--terraform PATH", "yuba up --tofu PATH", "The server needs it, the commands do not."},
}

func newTfctlTopic() *cobra.Command {
	return newCallsTopic("tfctl", "tofu-controller's command line", tfctlCalls,
		"tfctl has no equivalent of deploy, push, reject, destroy, status, runs, outputs, state, backup and adopt.\n"+
			"\"yuba adopt\" reports what happens when Yuba replaces tofu-controller.")
}

// newCallsTopic is the help topic about another program: its calls, and what else is different.
func newCallsTopic(program, about string, calls []otherCall, end string) *cobra.Command {
	var b strings.Builder
	fmt.Fprintf(&b, "The commands of %s, %s, and what to use instead:\n", program, about)
	for _, call := range calls {
		fmt.Fprintf(&b, "\n  %s %s\n", program, call.other)
		for _, line := range []string{call.yuba, call.note} {
			if line != "" {
				fmt.Fprintf(&b, "      %s\n", line)
			}
		}
	}
	return &cobra.Command{Use: program, Short: "Equivalents of " + program + "'s commands", Long: b.String() + "\n" + end}
}
