// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// moduleNames completes with the modules of the registry.
func moduleNames(ctx context.Context, s *session.Session) ([]cobra.Completion, error) {
	list, err := s.Content.Modules(ctx, "")
	var found []cobra.Completion
	for _, m := range list.Items {
		found = append(found, cobra.CompletionWithDesc(m.Module, m.Latest.Version))
	}
	return found, err
}

// registryNamespaces completes with the namespaces of the registry.
func registryNamespaces(ctx context.Context, s *session.Session) (found []cobra.Completion, err error) {
	modules, err := s.Content.Modules(ctx, "")
	if err != nil {
		return nil, err
	}
	providers, err := s.Content.RegistryProviders(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, m := range modules.Items {
		found = append(found, before(m.Module))
	}
	for _, p := range providers.Items {
		found = append(found, before(p.Provider))
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// before is the namespace in NAMESPACE/NAME.
func before(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	return namespace
}

// providerNames completes with the registry's own providers.
func providerNames(ctx context.Context, s *session.Session) (found []cobra.Completion, err error) {
	list, err := s.Content.RegistryProviders(ctx, "")
	for _, p := range list.Items {
		found = append(found, cobra.CompletionWithDesc(p.Provider, p.Latest.Version))
	}
	return found, err
}

// mirroredNames completes with the releases in the mirror.
func mirroredNames(ctx context.Context, s *session.Session) (found []cobra.Completion, err error) {
	list, err := s.Content.Mirror(ctx)
	for _, e := range list.Items {
		found = append(found, e.Provider+"@"+e.Version)
	}
	return found, err
}

// releaseNames completes NAMESPACE/NAME/SYSTEM@VERSION: first with modules, and behind "@" with
// versions.
func releaseNames(a *session.App) cobra.CompletionFunc {
	modules := a.FirstWord(moduleNames)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name, _, versions := strings.Cut(word, "@")
		if !versions {
			found, directive := modules(cmd, args, word)
			return found, directive | cobra.ShellCompDirectiveNoSpace
		}
		return a.FirstWord(func(ctx context.Context, s *session.Session) ([]cobra.Completion, error) {
			m, err := layout.ParseModule(name)
			if err != nil {
				return nil, err
			}
			list, err := s.Content.ModuleReleases(ctx, m)
			var found []cobra.Completion
			for _, r := range list.Items {
				found = append(found, cobra.CompletionWithDesc(r.ModuleVersion.String(), status(r)))
			}
			return found, err
		})(cmd, args, word)
	}
}

// status is the kind of a release's notice, or why it cannot be used.
func status(r catalog.Release) string {
	switch {
	case r.Problem != "":
		return "unusable"
	case r.Notice != nil:
		return string(r.Notice.Kind)
	}
	return ""
}

// explained gives an error of the server its exit code.
func explained(err error, doing string) error {
	var known apierrors.APIStatus
	if errors.As(err, &known) && known.Status().Message != "" && known.Status().Code != 500 {
		message := strings.TrimPrefix(known.Status().Message, doing+": ") // the server says what it did, too
		err = errors.New(message)
		switch known.Status().Code {
		case 404:
			return ui.Exitf(ui.ExitNotFound, "%s: %w", doing, err)
		case 409, 422, 403:
			return ui.Exitf(ui.ExitRefused, "%s: %w", doing, err)
		}
	}
	return fmt.Errorf("%s: %w", doing, err) // the session knows what to do about connections
}
