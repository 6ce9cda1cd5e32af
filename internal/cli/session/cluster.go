// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

// ClusterConfig is how the controllers, and who prepares for them, speak to the API of a cluster. The data directory is
// where they work, and not the way there.
func (a *App) ClusterConfig() (config *rest.Config, namespace string, err error) {
	loader := a.clusterLoader()
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", a.explainCluster(err)
	}
	// By its name, in what the API notes of each object, the writer is known: see package adopt.
	config.UserAgent = "yuba/" + version.String()
	// The API has its own fairness between clients; a client that holds itself back adds seconds to each pass.
	config.QPS = -1
	namespace, _, err = loader.Namespace()
	return config, namespace, err
}

// clusterLoader finds the kubeconfig of a cluster: the flag's, $KUBECONFIG's, the usual one.
func (a *App) clusterLoader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	return withToken{clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &a.overrides), a}
}

// explainCluster says where a kubeconfig was looked for when there is none.
func (a *App) explainCluster(err error) error {
	if !clientcmd.IsEmptyConfig(err) {
		return err
	}
	text := "no kubeconfig found. Yuba looked at $KUBECONFIG and at ~/.kube/config; name the API of \"yuba up\" explicitly.\n" +
		"Name a cluster:\n    --kubeconfig FILE"
	if path := filepath.Join(a.DataDirectory(), "kubeconfig"); fileExists(path) {
		text += "\nThe kubeconfig of the Yuba on this machine:\n    --kubeconfig " + path
	}
	return ui.Exitf(ui.ExitFailure, "%s", text)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
