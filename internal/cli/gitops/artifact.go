// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/publish"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

type registryFlags struct {
	creds, credsFile, provider string
	insecure                   bool
}

const registryText = `Credentials come from docker's configuration ($DOCKER_CONFIG, else ~/.docker), as "docker login" and credential helpers
store them. --creds-file names a file with USER:PASSWORD, or "-" for standard input; --creds takes them as an argument,
which other users of the machine may see.`

func (f *registryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.creds, "creds", "", "the registry's credentials as `USER:PASSWORD`, or a token; other users of the machine may see them, so prefer --creds-file")
	flags.StringVar(&f.credsFile, "creds-file", "", "a `file` with the registry's credentials as USER:PASSWORD, or - for standard input")
	flags.BoolVar(&f.insecure, "insecure-registry", false, "allow a registry without TLS or with an untrusted certificate")
	flags.StringVar(&f.provider, "provider", "generic", "only generic: for registries of clouds, use docker's credential helpers")
	ui.AddTimeoutFlag(cmd, 0, "maximum duration")
	ui.Complete(cmd, "provider", "generic")
}

// artifactAction acts on the artifact, or the repository, that ref names.
type artifactAction func(ctx context.Context, ref string, access publish.Access) error

// on makes the action of a command about the artifact that the only argument names.
func (f *registryFlags) on(a *session.App, do artifactAction) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		access, err := f.access(cmd, a.Console)
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		return artifactError(do(ctx, args[0], access))
	}
}

func (f *registryFlags) access(cmd *cobra.Command, console *ui.Console) (publish.Access, error) {
	a := publish.Access{Credentials: f.creds, Insecure: f.insecure, UserAgent: "yuba/" + version.String()}
	switch {
	case f.provider != "generic":
		return a, ui.UsageErrorf(cmd, "--provider %s: want generic. For the registry of a cloud set up its credential helper for docker", f.provider)
	case f.creds != "" && f.credsFile != "":
		return a, ui.UsageErrorf(cmd, "use --creds or --creds-file, not both")
	case f.credsFile == "":
		return a, nil
	}
	data, err := console.ReadFile(f.credsFile, maxCredentials)
	if err != nil {
		return a, fmt.Errorf("read the registry's credentials: %w", err)
	}
	if a.Credentials = strings.TrimSpace(string(data)); a.Credentials == "" {
		return a, fmt.Errorf("read the registry's credentials: %s is empty", f.credsFile)
	}
	return a, nil
}

// maxCredentials exceeds the size of any token.
const maxCredentials = 1 << 20

// artifactError gives an error about an artifact its exit code.
func artifactError(err error) error {
	var ref *publish.RefError
	switch {
	case errors.As(err, &ref):
		return ui.WithCode(ui.ExitUsage, err)
	case publish.IsNotFound(err):
		return ui.WithCode(ui.ExitNotFound, err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) { // by the registry: do not suggest to start Yuba
		return ui.WithCode(ui.ExitFailure, err)
	}
	return err
}

func artifactGroup(use, short string, children ...*cobra.Command) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: use + " COMMAND", Short: short, Long: short + ".",
		Example: "  yuba " + use + " artifact --help",
	}, children...)
}
