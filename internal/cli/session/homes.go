// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ConnectTo makes a session with the API that a text names: a context of the kubeconfigs that
// commands use, else a kubeconfig file, FILE#CONTEXT for another than its current context, or the
// data directory of "yuba up". The flags that select another user or server do not count.
func (a *App) ConnectTo(name string) (*Session, error) {
	loader, err := a.loaderNamed(name)
	if err != nil {
		return nil, err
	}
	config, namespace, err := configOf(loader)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return a.connectTo(config, namespace)
}

func (a *App) loaderNamed(name string) (clientcmd.ClientConfig, error) {
	known, err := a.loader().RawConfig()
	if _, ok := known.Contexts[name]; ok && err == nil {
		return a.loaderOfContext(name), nil
	}
	file, context, _ := strings.Cut(name, "#")
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("connect to %s: it is neither a context of the kubeconfig nor a file. List the contexts:\n    yuba kubectl config get-contexts", name)
	}
	if err == nil && info.IsDir() {
		file = filepath.Join(file, "kubeconfig")
		_, err = os.Stat(file)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}), nil
}

// loaderOfContext reads the usual kubeconfigs.
func (a *App) loaderOfContext(name string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	if path, ok := a.HomeKubeconfig(); ok && a.kubeconfig == "" {
		rules.Precedence = append([]string{path}, rules.Precedence...)
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
}

// CompleteHomes completes a flag with contexts, and files.
func (a *App) CompleteHomes(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, _ := a.ofKubeconfig(func(c api.Config) []string {
		names := make([]string, 0, len(c.Contexts))
		for name := range c.Contexts {
			names = append(names, name)
		}
		return names
	})(cmd, args, word)
	return found, cobra.ShellCompDirectiveDefault
}

// CompleteNamespaces completes a flag with the namespaces of a home.
func (a *App) CompleteNamespaces(cmd *cobra.Command, home string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := a.ConnectTo(home)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := namespaceNames(cmd.Context(), s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
