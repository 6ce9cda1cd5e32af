// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	server "github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

// The environment variables for the origin of OpenTofu releases, without flags.
const (
	toolsURLVariable = "YUBA_TOOLS_URL"
	toolsKeyVariable = "YUBA_TOOLS_KEY"
)

func newToolInstallCommand(a *session.App) *cobra.Command {
	var source opentofu.Source
	var tools string
	cmd := &cobra.Command{
		Use:   "install [VERSION]",
		Short: "Install a version of OpenTofu or Terraform for runs on this machine",
		Long: fmt.Sprintf(`Download a release of OpenTofu for this machine, verify OpenTofu's signature, and install it in the directory of tools,
where "yuba up" and stacks with spec.tool find it. Without VERSION it is %s, the one that Yuba is tested with. An installed
version is not downloaded again. The command needs no server; a running server finds the new version with its next run.

Releases come from %s. A mirror has the same layout, URL/v1.12.6/FILE, with
the archive, the file SHA256SUMS and its .gpgsig; a file:// URL is a local directory. Releases of a mirror must be signed
by OpenTofu, or by a key that you name. Yuba's registry is such a mirror: https://REGISTRY/v1/tools/tofu.

With --name terraform it installs a release of Terraform, signed by HashiCorp, in the layout of releases.hashicorp.com.`, opentofu.Pinned, opentofu.ReleasesURL),
		Example: "  yuba tools install\n  yuba tools install 1.11.3\n  yuba tools install --url https://mirror.example.com/opentofu\n  yuba tools install --url file:///media/usb/opentofu\n  yuba tools install 1.11.4 --name terraform",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&tools, "tools", "", "the directory of tools, as \"yuba up --tools\" names it (default DATA-DIR/tools)")
	flags.StringVar(&source.Tool, "name", opentofu.Tofu, "the tool: tofu or terraform")
	ui.Complete(cmd, "name", opentofu.Tofu, opentofu.Terraform)
	addToolSourceFlags(flags, &source, "url", "key")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		version := opentofu.Pinned
		switch {
		case source.Tool != opentofu.Tofu && source.Tool != opentofu.Terraform:
			return ui.UsageErrorf(cmd, "--name %q: it is tofu or terraform", source.Tool)
		case source.Tool == opentofu.Terraform && len(args) == 0:
			return ui.UsageErrorf(cmd, "name the version of Terraform to install")
		}
		if len(args) > 0 {
			if version, err = opentofu.ParseVersion(args[0]); err != nil {
				return ui.UsageErrorf(cmd, "%v", err)
			}
		}
		if tools == "" {
			if tools, err = server.ToolDir(a.DataDirectory()); err != nil {
				return err
			}
		}
		if source.Tool == opentofu.Tofu { // the variables are about OpenTofu's releases
			completeToolSource(&source)
		}
		return installTool(a, cmd, source, tools, version)
	}
	return cmd
}

func installTool(a *session.App, cmd *cobra.Command, source opentofu.Source, tools, version string) error {
	started := false
	tell := opentofu.Quarters(func(done string) { a.News("  %s", done) })
	installed, err := opentofu.Install(cmd.Context(), source, tools, version, func(done, total int64) {
		if !started {
			started = true
			a.News("Downloading %s %s from %s", source.Product(), version, source.Shown())
		}
		tell(done, total)
	})
	switch {
	case err != nil:
		return err
	case installed.Already:
		a.News("%s %s is installed already.", source.Product(), version)
	default:
		a.News("Installed %s %s; it is signed by %s.", source.Product(), version, installed.Signer)
	}
	fmt.Fprintln(a.Out, installed.Path)
	return nil
}

// addToolFlags adds the flags of a server for the releases of OpenTofu and Terraform.
func addToolFlags(flags *pflag.FlagSet, o *server.Common) {
	addToolSourceFlags(flags, &o.ToolSource, "tools-url", "tools-key")
	flags.StringVar(&o.TerraformSource.URL, "tools-terraform-url", "", "a mirror of Terraform's releases: https, http, or file for a directory (default HashiCorp's own)")
	flags.StringVar(&o.TerraformSource.KeyFile, "tools-terraform-key", "", "a file with the armoured public keys, one of which must have signed them (default HashiCorp's key)")
	flags.StringArray("tools-allow", nil, "the versions that the server may download when a stack requests them, such as \"opentofu >= 1.10, < 2, terraform 1.5.7\" (default none); can be repeated")
}

// completeTools completes these flags.
func completeTools(cmd *cobra.Command, o *server.Common) error {
	completeToolSource(&o.ToolSource)
	rules, err := cmd.Flags().GetStringArray("tools-allow")
	if err != nil {
		return err
	}
	if o.ToolsAllow, err = opentofu.ParseAllow(rules); err != nil {
		return ui.UsageErrorf(cmd, "--tools-allow: %v", err)
	}
	return nil
}

// addToolSourceFlags adds the flags for the origin of OpenTofu releases.
func addToolSourceFlags(flags *pflag.FlagSet, source *opentofu.Source, url, key string) {
	flags.StringVar(&source.URL, url, "", "a mirror of OpenTofu's releases: https, http, or file for a directory (default $"+toolsURLVariable+", else OpenTofu's own)")
	flags.StringVar(&source.KeyFile, key, "", "a file with the armoured public keys, one of which must have signed them (default $"+toolsKeyVariable+", else OpenTofu's own key)")
}

func completeToolSource(source *opentofu.Source) {
	source.URL = cmp.Or(source.URL, os.Getenv(toolsURLVariable))
	source.KeyFile = cmp.Or(source.KeyFile, os.Getenv(toolsKeyVariable))
}
