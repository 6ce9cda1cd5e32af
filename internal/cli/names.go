// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd/api"
)

// completionPatience is how long a shell waits for an answer.
const completionPatience = 3 * time.Second

// words asks the API for what a shell offers.
type words func(ctx context.Context, s *session) ([]cobra.Completion, error)

// stackWords asks for what a shell offers behind the name of a stack.
type stackWords func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error)

// ask answers a shell. A shell shows no errors: it offers nothing then.
func (a *app) ask(cmd *cobra.Command, what words) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	s, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := what(ctx, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// stackNames completes the first argument, or each of them, with the names of stacks.
func (a *app) stackNames(every bool) cobra.CompletionFunc { return a.objectNames(stacks, every) }

// objectNames completes the first argument, or each of them, with NAME or NAMESPACE/NAME of the objects of a kind. Where
// no name fits, it offers namespaces.
func (a *app) objectNames(k kind, every bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		onlyNamespaces := false
		found, directive := a.ask(cmd, func(ctx context.Context, s *session) ([]cobra.Completion, error) {
			namespace, _, slash := strings.Cut(word, "/")
			if !slash || k.clusterWide {
				namespace = s.namespace
			}
			names, err := s.namesOf(ctx, k, namespace)
			if err != nil || k.clusterWide {
				return names, err
			}
			fits := func(name string) bool { return strings.HasPrefix(name, word) }
			switch {
			case slash:
				return each(names, namespace+"/%s"), nil
			case word == "" || slices.ContainsFunc(names, fits):
				return names, nil
			}
			onlyNamespaces = true
			names, err = namespaceNames(ctx, s)
			return each(names, "%s/"), err
		})
		if onlyNamespaces {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

// objectWords completes what the objects of a kind are called in another way, each word once.
func (a *app) objectWords(k kind, word func(*object) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.ask(cmd, func(ctx context.Context, s *session) ([]cobra.Completion, error) {
			objects, _, err := s.listObjects(ctx, k, s.namespace)
			var found []cobra.Completion
			for _, o := range objects {
				if w := word(o); !slices.Contains(found, w) {
					found = append(found, w)
				}
			}
			return found, err
		})
	}
}

// namesOf lists the names of the objects of a kind in a namespace.
func (s *session) namesOf(ctx context.Context, k kind, namespace string) ([]cobra.Completion, error) {
	objects, _, err := s.listObjects(ctx, k, namespace)
	names := make([]cobra.Completion, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names, err
}

func namespaceNames(ctx context.Context, s *session) ([]cobra.Completion, error) {
	var namespaces corev1.NamespaceList
	if err := s.objects.List(ctx, &namespaces); err != nil {
		return nil, err
	}
	names := make([]cobra.Completion, 0, len(namespaces.Items))
	for _, n := range namespaces.Items {
		names = append(names, n.Name)
	}
	return names, nil
}

// each puts each of some words into a format.
func each(words []cobra.Completion, format string) []cobra.Completion {
	put := make([]cobra.Completion, len(words))
	for i, w := range words {
		put[i] = fmt.Sprintf(format, w)
	}
	return put
}

// stackAnd completes the first argument with a stack and the second, or all behind the first, with words about it.
func (a *app) stackAnd(what stackWords, every bool) cobra.CompletionFunc {
	names, behind := a.stackNames(false), a.aboutStack(what)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return names(cmd, args, word)
		case len(args) > 1 && !every:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return behind(cmd, args, word)
	}
}

// aboutStack completes with words about the stack that the first argument names, but for those that are there already.
func (a *app) aboutStack(what stackWords) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ask(cmd, func(ctx context.Context, s *session) ([]cobra.Completion, error) {
			key, err := s.stack(cmd, args[0])
			if err != nil {
				return nil, err
			}
			found, err := what(ctx, s, key)
			return slices.DeleteFunc(found, func(w cobra.Completion) bool {
				w, _, _ = strings.Cut(w, "\t")
				return slices.Contains(args[1:], w)
			}), err
		})
	}
}

// completeGlobalFlags completes what the API and the kubeconfig know.
func (a *app) completeGlobalFlags(root *cobra.Command) {
	completeFlag(root, "namespace", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.ask(cmd, namespaceNames)
	})
	completeFlag(root, "context", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }))
	completeFlag(root, "cluster", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }))
	completeFlag(root, "user", a.ofKubeconfig(func(c api.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }))
}

// ofKubeconfig completes with names that a kubeconfig has.
func (a *app) ofKubeconfig(names func(api.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := a.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names(config), cobra.ShellCompDirectiveNoFileComp
	}
}

// directories completes the first argument with directories.
func directories(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// noNames completes nothing: the arguments are none, or new names.
func noNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}
