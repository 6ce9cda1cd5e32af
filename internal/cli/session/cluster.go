// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// ClusterConfig is the way of the controllers, and of commands that prepare for them, to the API of
// a cluster: the kubeconfig of the flag, $KUBECONFIG or ~/.kube/config, never that of a data
// directory.
func (a *App) ClusterConfig() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	config, namespace, err := configOf(a.loaderOf(rules))
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", a.noCluster()
	}
	return config, namespace, err
}

func (a *App) noCluster() error {
	text := "no kubeconfig found. Yuba looked at $KUBECONFIG and at ~/.kube/config; name the API of \"yuba up\" explicitly.\n" +
		"Name a cluster:\n    --kubeconfig FILE"
	path := filepath.Join(a.DataDirectory(), "kubeconfig")
	if _, err := os.Stat(path); err == nil {
		text += "\nThe kubeconfig of the Yuba on this machine:\n    --kubeconfig " + path
	}
	return ui.Exitf(ui.ExitFailure, "%s", text)
}
