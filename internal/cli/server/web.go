// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewWebCommand is "yuba web".
func NewWebCommand(a *session.App) *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use: "web", SuggestFor: []string{"ui", "open", "dashboard", "page"},
		Short: "Open the web page as you",
		Long: `Open the web page in the browser, logged in as the user of the kubeconfig. The link works once and for one minute, so
nobody else can use it later. With --print, or where no browser can be started, the command prints the link instead.

Under "Docs", the page has the documentation of the server's version, with search and without access to the Internet.`,
		Example: "  yuba web\n  yuba web --print",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the link instead of opening it")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		link, err := s.Content.WebLink(cmd.Context())
		if err != nil {
			return fmt.Errorf("ask the server for a link to its page: %w", err)
		}
		switch {
		case out.Machine():
			return out.Print(s.Out, link)
		case !printOnly && s.Interactive() && openBrowser(cmd.Context(), link.URL) == nil:
			s.News("The page opens in your browser.")
			return nil
		}
		_, err = fmt.Fprintln(s.Out, link.URL)
		return err
	})
	return cmd
}

// openBrowser opens an address in the person's browser. Others on this machine see the arguments of
// programs, so the address is in a file that only the person can read.
func openBrowser(ctx context.Context, url string) error {
	dir, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "yuba")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "open.html")
	page := `<!doctype html><meta http-equiv="refresh" content="0;url=` + html.EscapeString(url) + `"><title>Yuba</title>`
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return err
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	return exec.CommandContext(ctx, program, file).Run()
}
