// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

func newControllerCommand(a *app) *cobra.Command {
	var o server.ControllerOptions
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run Yuba's controllers on the API of a cluster",
		Long: `Run Yuba's controllers, and the runs of stacks, on this machine, with the objects in the API that the kubeconfig names.
That API must serve the kinds (see config/crd). A tofu-controller that is alive there keeps the command from starting:
two controllers must not work on the same objects. Tenants of a Tenant Operator that is alive are left to it.`,
		Example: "  yuba controller --kubeconfig cluster.kubeconfig --data-dir /var/lib/yuba",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.ContentAddress, "content-address", "127.0.0.1:7444", "where to serve logs, plans and states")
	flags.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", false, "allow addresses that other machines reach")
	flags.BoolVar(&o.AllowBreakTheGlass, "allow-break-the-glass", false, "let administrators open shells in working directories (yuba shell)")
	flags.StringVar(&o.EventsAddr, "events-addr", "", "where to post events, such as http://notification-controller.flux-system.svc.cluster.local./ (default nowhere)")
	addServerFlags(cmd, &o.Common)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.completeServer(cmd, &o.Common); err != nil {
			return err
		}
		if err := server.CheckEventsAddr(o.EventsAddr); err != nil {
			return usageErrorf(cmd, "%v", err)
		}
		config, err := a.controllerConfig()
		if err != nil {
			return err
		}
		o.Config = config
		server.LogKubernetes(o.Log)
		return server.RunController(cmd.Context(), o)
	}
	return cmd
}

// controllerConfig is how the controllers speak to the API. The data directory is where they work, and not the way there.
func (a *app) controllerConfig() (*rest.Config, error) {
	config, err := a.clusterLoader().ClientConfig()
	if err != nil {
		return nil, a.explainCluster(err)
	}
	// By its name, in what the API notes of each object, the writer is known: see package adopt.
	config.UserAgent = "yuba/" + version.String()
	// The API has its own fairness between clients; a client that holds itself back adds seconds to each pass.
	config.QPS = -1
	return config, nil
}

// clusterLoader finds the kubeconfig of a cluster: the flag's, $KUBECONFIG's, the usual one.
func (a *app) clusterLoader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	return withToken{clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &a.overrides), a}
}

// explainCluster says where a kubeconfig was looked for when there is none.
func (a *app) explainCluster(err error) error {
	if !clientcmd.IsEmptyConfig(err) {
		return err
	}
	text := "no cluster is known here. A kubeconfig was looked for at $KUBECONFIG and at ~/.kube/config; the API of \"yuba up\" has to be named.\n" +
		"Say which cluster:\n    --kubeconfig FILE"
	if path := filepath.Join(a.dataDirectory(), "kubeconfig"); fileExists(path) {
		text += "\nThe kubeconfig of the Yuba on this machine:\n    --kubeconfig " + path
	}
	return exitf(exitError, "%s", text)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
