// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/content"
)

func newProvidersCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "providers",
		Short: "List the providers that are kept for all stacks",
		Long: `List the providers that are kept for all stacks: each version is downloaded once, verified, and linked into the
working directories of the stacks that use it. What no working directory links to goes when it was not used for a while, or
when the store grows beyond its size; see "yuba up --provider-store". Packages of the scope "shared" are for every stack;
others came with a stack's own credentials, mirrors or proxies and are for stacks with exactly the same ones.`,
		Example: "  yuba providers\n  yuba providers -o json",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		list, err := s.content.Providers(cmd.Context())
		if err != nil {
			return fmt.Errorf("ask the server for its providers: %w", err)
		}
		return s.showProviders(list, out, time.Now())
	}
	return cmd
}

func (s *session) showProviders(list content.ProviderList, out *output, now time.Time) error {
	switch {
	case out.form == "name":
		for _, p := range list.Items {
			fmt.Fprintln(s.out, p.Source+" "+p.Version)
		}
		return nil
	case out.machine():
		return out.print(s.out, list)
	case len(list.Items) == 0:
		fmt.Fprintln(s.err, "No provider was downloaded so far.")
		return nil
	}
	rows := [][]string{{"PROVIDER", "VERSION", "SIZE", "STACKS", "USED", "SCOPE"}}
	var total int64
	for _, p := range list.Items {
		total += p.Size
		source := strings.TrimPrefix(p.Source, "registry.opentofu.org/")
		rows = append(rows, []string{source, p.Version, inMegabytes(p.Size), strconv.Itoa(p.Users), age(now, p.Used) + " ago", p.Scope})
	}
	if err := table(s.out, rows); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s in all.\n", inMegabytes(total))
	return nil
}

// inMegabytes writes a size as people compare downloads.
func inMegabytes(n int64) string {
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}
