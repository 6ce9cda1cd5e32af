// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func addPodFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String("runner-image", "", "execute runs in Pods of this image (default as processes beside the controllers)")
	flags.String("runner-url", "", "the URL at which runner Pods reach this server (default that of --service)")
	flags.String("runner-address", "0.0.0.0:7445", "listen address for runner Pods, which identify themselves by their service account")
	flags.Duration("runner-idle", server.DefaultRunnerIdle, "how long a runner Pod without a run stays")
	flags.String("runner-pull-policy", "", "the pull policy of the image: Always, IfNotPresent or Never (default the cluster's)")
	flags.StringSlice("runner-pull-secret", nil, "a Secret, in the namespaces of stacks, to pull the image with; can be repeated")
	flags.String("runner-requests", "", "resource requests of runner Pods whose stacks set none, such as cpu=100m,memory=128Mi")
	flags.String("runner-limits", "", "resource limits of runner Pods whose stacks set none, such as memory=1Gi")
	ui.Complete(cmd, "runner-pull-policy", string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever))
}

// completeService sets the Service of this process.
func completeService(cmd *cobra.Command, o *server.ControllerOptions) error {
	text := cmd.Flag("service").Value.String()
	if text == "" {
		return nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return ui.UsageErrorf(cmd, "--service %s: want NAMESPACE/NAME", text)
	}
	o.Service = types.NamespacedName{Namespace: namespace, Name: name}
	return nil
}

// completePods sets the options of runner Pods.
func completePods(cmd *cobra.Command, o *server.ControllerOptions) error {
	text := func(name string) string { return cmd.Flag(name).Value.String() }
	if text("runner-image") == "" {
		for _, name := range []string{"runner-url", "runner-address", "runner-idle", "runner-pull-policy", "runner-pull-secret", "runner-requests", "runner-limits"} {
			if cmd.Flags().Changed(name) {
				return ui.UsageErrorf(cmd, "--%s needs --runner-image: without it, runs are not Pods", name)
			}
		}
		return nil
	}
	if o.RunNetwork == run.IsolatedNetwork {
		return ui.UsageErrorf(cmd, "--run-network %s is for runs beside the server, and --runner-image executes them in Pods: restrict those by NetworkPolicies, such as networkPolicy.runners.allowedCIDRs of the chart", run.IsolatedNetwork)
	}
	pods := &server.RunnerPods{Address: text("runner-address")}
	pods.Image, pods.Server = text("runner-image"), strings.TrimSuffix(text("runner-url"), "/")
	if _, port, err := net.SplitHostPort(pods.Address); err == nil && pods.Server == "" && o.Service.Name != "" {
		pods.Server = "https://" + net.JoinHostPort(server.ServiceHost(o.Service), port)
	}
	if u, err := url.Parse(pods.Server); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "" {
		return ui.UsageErrorf(cmd, "--runner-url %s: want https://HOST:PORT, or name this server's Service with --service", pods.Server)
	}
	var err error
	if pods.PullPolicy, err = server.ParsePullPolicy(text("runner-pull-policy")); err != nil {
		return ui.UsageErrorf(cmd, "--runner-pull-policy: %v", err)
	}
	if pods.IdleFor, err = cmd.Flags().GetDuration("runner-idle"); err != nil || pods.IdleFor <= 0 {
		return ui.UsageErrorf(cmd, "--runner-idle %s: want a time above 0", text("runner-idle"))
	}
	if pods.PullSecrets, err = cmd.Flags().GetStringSlice("runner-pull-secret"); err != nil {
		return ui.UsageErrorf(cmd, "--runner-pull-secret: %v", err)
	}
	for flag, list := range map[string]*corev1.ResourceList{"runner-requests": &pods.Resources.Requests, "runner-limits": &pods.Resources.Limits} {
		if *list, err = parseResources(text(flag)); err != nil {
			return ui.UsageErrorf(cmd, "--%s %s: %v", flag, text(flag), err)
		}
	}
	o.Pods = pods
	return nil
}

// parseResources reads NAME=QUANTITY,...
func parseResources(text string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, amount, _ := strings.Cut(part, "=")
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return nil, err
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}
