// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// NewToolsCommand is "yuba tools".
func NewToolsCommand(a *session.App) *cobra.Command {
	cmd := newToolListCommand(a, "tools")
	list := newToolListCommand(a, "list")
	list.Long, list.Example = `List the versions of tofu and terraform that runs can use, as "yuba tools" does.`, "  yuba tools list"
	cmd.AddCommand(list, newToolInstallCommand(a), newToolKeptCommand(a))
	return cmd
}

// newToolKeptCommand is "yuba tools kept".
func newToolKeptCommand(a *session.App) *cobra.Command {
	return listing.ServerCommand(a, &cobra.Command{
		Use:   "kept",
		Short: "List the versions of tofu and terraform that the registry keeps",
		Long: `List the versions of tofu and terraform in the registry's bucket: for which platforms, where they are from, who made Yuba fetch
them, and when. "yuba registry users tofu" names the stacks that use each version.`,
		Example: "  yuba tools kept\n  yuba tools kept -o json",
	}, func(ctx context.Context, s *session.Session) (*listing.List, error) {
		kept, err := s.Content.KeptTools(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the server for the tools that its registry keeps: %w", err)
		}
		return listedKept(kept, time.Now()), nil
	})
}

func listedKept(kept content.KeptTools, now time.Time) *listing.List {
	l := &listing.List{Answer: kept, None: "The registry keeps no tools. Runs fetch allowed versions (--tools-allow), and laptops any:\n    yuba tools install VERSION --url https://REGISTRY/v1/tools/tofu",
		Rows: [][]string{{"TOOL", "VERSION", "PLATFORMS", "SIZE", "FROM", "BY", "KEPT", "SHA256"}}, Wide: []string{"SHA256"}}
	for _, v := range kept.Items {
		var platforms, sums []string
		var size int64
		for _, f := range v.Files {
			size += f.Size
			if p := opentofu.PlatformOf(f.Name); p != "" {
				platforms, sums = append(platforms, p), append(sums, f.SHA256)
			}
		}
		age := "-"
		if v.Kept != nil {
			age = ui.Age(now, *v.Kept) + " ago"
		}
		l.Add(v.Tool+"-"+v.Version, v.Tool, v.Version, strings.Join(platforms, ","), ui.Size(size), cmp.Or(v.From, "-"), cmp.Or(v.By, "-"), age, strings.Join(sums, ","))
	}
	return l
}

func newToolListCommand(a *session.App, use string) *cobra.Command {
	return listing.ServerCommand(a, &cobra.Command{
		Use:   use,
		Short: "List the versions of tofu and terraform that runs can use",
		Long: `List the versions of tofu and terraform that runs can use, where they are, and why others cannot be used. A stack requests
one with spec.tool; Yuba uses the newest that fits. Install other versions side by side in the server's directory of tools
(DATA-DIR/tools, or that of --tools), as tofu-1.9.1 or tofu/1.9.1/tofu; "yuba tools install" does so.`,
		Example: "  yuba tools\n  yuba tools -o json",
	}, func(ctx context.Context, s *session.Session) (*listing.List, error) {
		info, err := s.Content.Server(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the server for its tools: %w", err)
		}
		return listedTools(info.Tools), nil
	})
}

func listedTools(tools []run.InstalledTool) *listing.List {
	if tools == nil {
		tools = []run.InstalledTool{}
	}
	l := &listing.List{None: "The server found no tool.", Rows: [][]string{{"TOOL", "VERSION", "RUNNER", "PATH", "NOTE"}}}
	l.Answer = struct {
		Items []run.InstalledTool `json:"items"`
	}{tools}
	for _, t := range tools {
		note := t.Problem
		if note == "" {
			l.Names = append(l.Names, t.Name+"-"+t.Version)
			if t.Default {
				note = "default"
			}
		}
		l.Rows = append(l.Rows, []string{t.Name, t.Version, t.Runner, t.Path, note})
	}
	return l
}
