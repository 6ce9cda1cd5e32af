// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

type versions struct {
	Client clientVersion       `json:"client"`
	Server *content.ServerInfo `json:"server,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// NewVersionCommand is "yuba version".
func NewVersionCommand(a *session.App) *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of this program, of the server and of its tofu",
		Long:    "Show the versions of this program, of the server that it talks to, and of the tofu that runs use there.",
		Example: "  yuba version\n  yuba version --client -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the server")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := versions{Client: clientVersion{version.String(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}}
		if !clientOnly {
			info, err := a.ServerInfo(cmd.Context())
			switch {
			case apierrors.IsForbidden(err):
				a.News("You may not read the server's version: %v.\nAn administrator can allow it:\n"+
					"    yuba kubectl create clusterrolebinding NAME --clusterrole=view --user=USER", err)
			case err != nil:
				text, _ := session.Explain(err)
				a.News("Cannot read the server's version: %s", text)
			default:
				v.Server = &info
			}
		}
		if out.Machine() {
			return out.Print(a.Out, v)
		}
		fmt.Fprintf(a.Out, "Client: %s (%s, %s)\n", v.Client.Version, v.Client.Go, v.Client.Platform)
		if s := v.Server; s != nil {
			fmt.Fprintf(a.Out, "Server: %s\n", s.Version)
			if s.RunnerImage != "" {
				fmt.Fprintf(a.Out, "Runs:   in Pods of %s\n", s.RunnerImage)
			} else {
				fmt.Fprintf(a.Out, "Tool:   %s (%s)\n", s.ToolVersion, s.Tool)
			}
			if s.Trouble != "" {
				a.News("The server reports a problem: %s.", s.Trouble)
			}
			if s.Walls != "" {
				fmt.Fprintf(a.Out, "Walls:  %s\n", s.Walls)
			}
			for _, missing := range s.MissingWalls {
				a.News("A wall of the confinement is missing: %s.", missing)
			}
		}
		return nil
	}
	return cmd
}
