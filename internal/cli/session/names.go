// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const completionPatience = 3 * time.Second

// words reads from the API what a shell offers.
type words func(ctx context.Context, s *Session) ([]cobra.Completion, error)

// StackWords reads what a shell offers after the name of a stack.
type StackWords func(ctx context.Context, s *Session, key types.NamespacedName) ([]cobra.Completion, error)

// ask answers a shell. Shells show no errors, so it offers nothing then.
func (a *App) ask(cmd *cobra.Command, what words) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	s, err := a.Connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := what(ctx, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// StackNames completes the first argument, or each of them, with the names of stacks.
func (a *App) StackNames(every bool) cobra.CompletionFunc { return a.ObjectNames(Stacks, every) }

// ObjectNames completes the first argument, or each of them, with NAME or NAMESPACE/NAME of the
// objects of a kind. Where no name fits, it offers namespaces.
func (a *App) ObjectNames(k Kind, every bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		onlyNamespaces := false
		found, directive := a.ask(cmd, func(ctx context.Context, s *Session) ([]cobra.Completion, error) {
			namespace, _, slash := strings.Cut(word, "/")
			if !slash || k.ClusterWide {
				namespace = s.Namespace
			}
			names, err := s.wordsOf(ctx, k, namespace, func(o *Object) string { return o.GetName() })
			if err != nil || k.ClusterWide {
				return names, err
			}
			fits := func(name string) bool { return strings.HasPrefix(name, word) }
			switch {
			case slash:
				for i, name := range names {
					names[i] = namespace + "/" + name
				}
				return names, nil
			case word == "" || slices.ContainsFunc(names, fits):
				return names, nil
			}
			onlyNamespaces = true
			names, err = namespaceNames(ctx, s)
			for i, name := range names {
				names[i] = name + "/"
			}
			return names, err
		})
		if onlyNamespaces {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

// ObjectWords completes with a word of each object of a kind, each word once.
func (a *App) ObjectWords(k Kind, word func(*Object) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.ask(cmd, func(ctx context.Context, s *Session) ([]cobra.Completion, error) {
			return s.wordsOf(ctx, k, s.Namespace, word)
		})
	}
}

func (s *Session) wordsOf(ctx context.Context, k Kind, namespace string, word func(*Object) string) (found []cobra.Completion, err error) {
	objects, _, err := s.ListObjects(ctx, k, namespace)
	for _, o := range objects {
		if w := word(o); !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	return found, err
}

func namespaceNames(ctx context.Context, s *Session) ([]cobra.Completion, error) {
	var namespaces corev1.NamespaceList
	if err := s.Objects.List(ctx, &namespaces); err != nil {
		return nil, err
	}
	names := make([]cobra.Completion, 0, len(namespaces.Items))
	for _, n := range namespaces.Items {
		names = append(names, n.Name)
	}
	return names, nil
}

// StackAnd completes the first argument with a stack, the second or all others with words about it.
func (a *App) StackAnd(what StackWords, every bool) cobra.CompletionFunc {
	names, behind := a.StackNames(false), a.AboutStack(what)
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

// AboutStack completes with further words about the stack of the first argument.
func (a *App) AboutStack(what StackWords) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ask(cmd, func(ctx context.Context, s *Session) ([]cobra.Completion, error) {
			key, err := s.Stack(cmd, args[0])
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

// OfStatus reads words from a stack's status.
func OfStatus(words func(infrav1.TerraformStatus) []cobra.Completion) StackWords {
	return func(ctx context.Context, s *Session, key types.NamespacedName) ([]cobra.Completion, error) {
		t, err := s.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		return words(t.Status), nil
	}
}

// WordOrNone is one word, or none.
func WordOrNone(word string) []cobra.Completion {
	if word == "" {
		return nil
	}
	return []cobra.Completion{word}
}

// FirstWord completes the first argument with words that the server knows.
func (a *App) FirstWord(what func(context.Context, *Session) ([]cobra.Completion, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ask(cmd, what)
	}
}
