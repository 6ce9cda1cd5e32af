// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// App is one call of the program: its console and the flags that all commands share.
type App struct {
	*ui.Console
	kubeconfig string
	DataDir    string
	tokenFile  string
	overrides  clientcmd.ConfigOverrides
}

// NamespaceFlag is the namespace of -n; empty without the flag.
func (a *App) NamespaceFlag() string { return a.overrides.Context.Namespace }

// AddGlobalFlags gives the root the flags that all commands share.
func (a *App) AddGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "the kubeconfig to use (default $KUBECONFIG, else that of the data directory, else ~/.kube/config)")
	flags.StringVar(&a.DataDir, "data-dir", "", "the data directory of \"yuba up\" (default $YUBA_DATA_DIR, else $XDG_DATA_HOME/yuba)")
	flags.StringVar(&a.Color, "color", "auto", "colour: auto, always or never")
	bind := clientcmd.ConfigOverrideFlags{
		CurrentContext: clientcmd.FlagInfo{LongName: "context", Description: "the context of the kubeconfig to use"},
		ContextOverrideFlags: clientcmd.ContextOverrideFlags{
			ClusterName:  clientcmd.FlagInfo{LongName: "cluster", Description: "the cluster of the kubeconfig to use"},
			AuthInfoName: clientcmd.FlagInfo{LongName: "user", Description: "the user of the kubeconfig to use"},
			Namespace:    clientcmd.FlagInfo{LongName: "namespace", ShortName: "n", Description: "the namespace to work in (default that of the context)"},
		},
		ClusterOverrideFlags: clientcmd.ClusterOverrideFlags{
			APIServer:            clientcmd.FlagInfo{LongName: "server", Description: "the API server's address"},
			CertificateAuthority: clientcmd.FlagInfo{LongName: "certificate-authority", Description: "a file with the certificate of the authority that --server's certificate is from"},
		},
		AuthOverrideFlags: clientcmd.AuthOverrideFlags{
			Token:       clientcmd.FlagInfo{LongName: "token", Description: "a bearer token to authenticate with; other users of this machine can see it, so prefer --token-file or $YUBA_TOKEN"},
			Impersonate: clientcmd.FlagInfo{LongName: "as", Description: "act as this user"},
		},
	}
	flags.StringVar(&a.tokenFile, "token-file", "", "a file with a bearer token to authenticate with (default $YUBA_TOKEN, else the kubeconfig's credentials)")
	a.overrides.ClusterDefaults = api.Cluster{}
	clientcmd.BindOverrideFlags(&a.overrides, flags, bind)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		switch a.Color {
		case "auto", "always", "never":
			return ui.CheckOutput(cmd)
		}
		return ui.UsageErrorf(cmd, "--color %q: want auto, always or never", a.Color)
	}
	ui.Complete(root, "color", "auto", "always", "never")
	a.completeGlobalFlags(root)
}

// completeGlobalFlags completes names that the API and the kubeconfig know.
func (a *App) completeGlobalFlags(root *cobra.Command) {
	ui.CompleteFlag(root, "namespace", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.ask(cmd, namespaceNames)
	})
	ui.CompleteFlag(root, "context", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }))
	ui.CompleteFlag(root, "cluster", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }))
	ui.CompleteFlag(root, "user", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }))
}

func (a *App) ofKubeconfig(names func(api.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := a.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names(config), cobra.ShellCompDirectiveNoFileComp
	}
}
