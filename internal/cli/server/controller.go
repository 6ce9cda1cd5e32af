// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewControllerCommand is "yuba controller".
func NewControllerCommand(a *session.App) *cobra.Command {
	var o server.ControllerOptions
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run Yuba's controllers on the API of a cluster",
		Long: `Run Yuba's controllers on this machine, with the objects in the API of the kubeconfig. Runs of stacks execute beside
them, or in Pods with --runner-image. The API must serve the kinds: "yuba crds install" adds them. The command refuses to start while a tofu-controller is active there: two
controllers must not work on the same objects. It leaves the tenants of an active Tenant Operator, and the sources and
Kustomizations of an active Flux, alone.`,
		Example: "  yuba controller --kubeconfig cluster.kubeconfig --data-dir /var/lib/yuba",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.ContentAddress, "content-address", "127.0.0.1:7444", "listen address for logs, plans and states")
	flags.BoolVar(&o.AllowNonLoopback, "allow-non-loopback", false, "allow listen addresses that other machines can reach")
	flags.BoolVar(&o.AllowBreakTheGlass, "allow-break-the-glass", false, "allow administrators to open shells in working directories (yuba shell)")
	flags.StringVar(&o.EventsAddr, "events-addr", "", "where to post events, such as http://notification-controller.flux-system.svc.cluster.local./ (default nowhere)")
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "run as one of several replicas: one leads, and the others wait and pass connections on to it")
	flags.StringVar(&o.AdvertiseAddress, "advertise-address", "", "the address at which other replicas reach this one (default $POD_IP)")
	flags.String("service", "", "the Service NAMESPACE/NAME of this process, by which the cluster's API server and runner Pods reach it")
	flags.StringVar(&o.KeysSecret, "keys-secret", "", "the Secret NAMESPACE/NAME with the keys that replicas share; created if it is missing")
	flags.StringSliceVar(&o.Namespaces, "namespaces", nil, "work only on the objects of these namespaces (default all); can be repeated")
	flags.BoolVar(&o.VolatileBlobs, "volatile-blobs", false, "start even if the archives, logs, plans and state versions in the data directory are lost")
	flags.StringVar(&o.HTTPAddress, "http-address", "", "listen address for browsers and webhooks (default none)")
	flags.BoolVar(&o.Web.Serve, "web", false, "also serve the web page at --http-address; needs the right to impersonate users")
	flags.BoolVar(&o.Web.AllowMasters, "web-allow-masters", false, "let members of the group system:masters, whom no role limits, use the web page")
	flags.StringVar(&o.HealthAddress, "health-address", "", "listen address for the probes /livez and /readyz (default none)")
	flags.BoolVar(&o.GitOps, "gitops", false, "also run Yuba's controllers of sources, Kustomizations and notifications, unless Flux is running there")
	addPodFlags(cmd)
	addServerFlags(cmd, &o.Common)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := completeServer(a, cmd, &o.Common); err != nil {
			return err
		}
		if err := server.CheckEventsAddr(o.EventsAddr); err != nil {
			return ui.UsageErrorf(cmd, "%v", err)
		}
		o.AdvertiseAddress = cmp.Or(o.AdvertiseAddress, os.Getenv("POD_IP"))
		if err := completeService(cmd, &o); err != nil {
			return err
		}
		if o.Web.Serve && o.HTTPAddress == "" {
			return ui.UsageErrorf(cmd, "--web: want --http-address, too, such as 127.0.0.1:7080")
		}
		if err := completePods(cmd, &o); err != nil {
			return err
		}
		config, _, err := a.ClusterConfig()
		if err != nil {
			return err
		}
		o.Config = config
		server.LogKubernetes(o.Log)
		return session.ExplainCluster("start the controllers", server.RunController(cmd.Context(), o))
	}
	return cmd
}
