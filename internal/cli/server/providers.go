// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewProvidersCommand is "yuba providers".
func NewProvidersCommand(a *session.App) *cobra.Command {
	cmd := listing.ServerCommand(a, &cobra.Command{
		Use:   "providers",
		Short: "List the providers in the provider store",
		Long: `List the providers in the provider store: Yuba downloads each version once, verifies it, and links it into the
working directories of the stacks that use it. It removes providers that no working directory links to when they were not
used for a while, or when the store exceeds its size; see "yuba up --provider-store". Packages of the scope "shared" are for
every stack; others came with a stack's own credentials, mirrors or proxies and are for stacks with exactly the same ones.`,
		Example: "  yuba providers\n  yuba providers -o json",
	}, func(ctx context.Context, s *session.Session) (*listing.List, error) {
		list, err := s.Content.Providers(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the server for its providers: %w", err)
		}
		return listedProviders(list, time.Now()), nil
	})
	cmd.AddCommand(newProvidersRemoveCommand(a))
	return cmd
}

// hostShown is omitted from the names of providers: it is the default host.
const hostShown = "registry.opentofu.org/"

func listedProviders(list content.ProviderList, now time.Time) *listing.List {
	l := &listing.List{Answer: list, None: "The provider store is empty.", Rows: [][]string{{"PROVIDER", "VERSION", "SIZE", "STACKS", "USED", "SCOPE"}}}
	var total int64
	for _, p := range list.Items {
		total += p.Size
		l.Add(p.Source+" "+p.Version, strings.TrimPrefix(p.Source, hostShown), p.Version, inMegabytes(p.Size), strconv.Itoa(p.Users), ui.Age(now, p.Used)+" ago", p.Scope)
	}
	l.Sum = inMegabytes(total) + " in total."
	return l
}

// inMegabytes is a size in decimal megabytes, as for downloads.
func inMegabytes(n int64) string {
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

func newProvidersRemoveCommand(a *session.App) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "remove SOURCE VERSION",
		Short: "Remove a provider from the provider store",
		Long: `Remove a version of a provider from the provider store, for instance because its download is damaged. The next run that
needs it downloads it again. Yuba prepares the working directories that link to it anew. A provider that a run uses now
stays.`,
		Example: "  yuba providers remove hashicorp/aws 6.21.0\n  yuba providers remove hashicorp/aws 6.21.0 --scope shared",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().StringVar(&scope, "scope", "", `remove it only from this scope, as "yuba providers" lists it (default all)`)
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		source, version := args[0], strings.TrimPrefix(args[1], "v")
		removed, err := s.Content.RemoveProvider(cmd.Context(), source, version, scope)
		switch {
		case apierrors.IsNotFound(err):
			return ui.Exitf(ui.ExitNotFound, "remove %s %s: %w. List them:\n    yuba providers", source, version, err)
		case err != nil:
			return fmt.Errorf("remove %s %s: %w", source, version, err)
		}
		for _, p := range removed.Items {
			s.News("%s %s is removed (%s, scope %s).", strings.TrimPrefix(p.Source, hostShown), p.Version, inMegabytes(p.Size), p.Scope)
		}
		return nil
	})
	return cmd
}
