// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/registry/foreign"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// copyFlags are those of "yuba registry copy".
type copyFlags struct {
	tokenFile, caFile      string
	dryRun, ignoreExisting bool
}

// newCopyCommand is "yuba registry copy".
func newCopyCommand(a *session.App) *cobra.Command {
	var o copyFlags
	cmd := &cobra.Command{
		Use: "copy HOST/NAMESPACE[/NAME/SYSTEM][@RANGE] [TO]", SuggestFor: []string{"import", "migrate"},
		Short: "Copy modules from another registry",
		Long: `Copy the versions of a module, or of all modules of a namespace, from another registry: Terraform Enterprise, HCP Terraform,
boring-registry, another Yuba, or any other that speaks the protocol modules.v1. TO is the name here, NAMESPACE/NAME/SYSTEM or
NAMESPACE, if it differs. Versions keep their numbers.

The command downloads each version, and publishes the same files here, the oldest version first. It skips versions that exist
here with the same files, reports those that exist with other files, and continues after an error; so you can repeat it until
the day of the move. It does not refuse patch releases that break callers, because they are published already.

The token for HOST is the one that tofu would use: TF_TOKEN_… in the environment, a credentials block in the CLI configuration
file, or the file that "tofu login" writes. Credential helpers are not started; use --from-token-file instead.

Whole namespaces can be copied from Terraform Enterprise, HCP Terraform (NAMESPACE is the organization) and Yuba. Other
registries do not list their modules. Versions that a registry keeps in git repositories cannot be copied: publish the tags with
"yuba create source module".`,
		Example: "  yuba registry copy app.terraform.io/acme/vpc/aws\n  yuba registry copy 'app.terraform.io/acme/vpc/aws@>= 2' platform/vpc/aws\n" +
			"  yuba registry copy tfe.example.com/acme --dry-run\n  yuba registry copy tfe.example.com/Acme-Corp acme --from-token-file token -o json",
		Args: ui.Arguments(1, 2), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.tokenFile, "from-token-file", "", "a file with the token for HOST (default the one that tofu would use)")
	flags.StringVar(&o.caFile, "from-certificate-authority", "", "a file with an authority to trust for HOST, besides those of the system")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the versions, and copy nothing")
	flags.BoolVar(&o.ignoreExisting, "ignore-existing", false, "skip versions that exist here without downloading and comparing them")
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		from, err := parseForeign(args[0])
		if err == nil && len(args) > 1 {
			err = from.renameTo(args[1])
		}
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		registry, err := o.open(cmd.Context(), from.host)
		if err != nil {
			return err
		}
		modules, err := from.modules(cmd.Context(), s, registry)
		if err != nil {
			return explainedForeign(err, from.host)
		}
		c := &copier{Session: s, flags: o, from: from, registry: registry, results: []copied{}}
		for _, m := range modules {
			if err := c.module(cmd.Context(), m); err != nil {
				return errors.Join(c.show(out), explainedForeign(err, from.host))
			}
		}
		return c.show(out)
	})
	return cmd
}

// foreignModules is what to copy.
type foreignModules struct {
	host string
	// name is NAMESPACE/NAME/SYSTEM, or NAMESPACE for all of its modules.
	name string
	// versions is a range; empty for all.
	versions string
	allowed  inspect.Constraints
	// namespace and module are the names here, if they differ.
	namespace string
	module    layout.Module
}

// parseForeign parses HOST/NAMESPACE[/NAME/SYSTEM][@RANGE].
func parseForeign(text string) (foreignModules, error) {
	name, versions, ranged := strings.Cut(text, "@")
	host, name, _ := strings.Cut(name, "/")
	f := foreignModules{host: strings.ToLower(host), name: name, versions: versions}
	parts := strings.Split(name, "/")
	isHost := strings.ContainsAny(host, ".:") || host == "localhost"
	for _, part := range parts {
		isHost = isHost && part != "" && part != "." && part != ".." && !strings.ContainsAny(part, "?#%\\ ")
	}
	if !isHost || len(parts) != 1 && len(parts) != 3 {
		return f, fmt.Errorf("%q: expected HOST/NAMESPACE/NAME/SYSTEM such as app.terraform.io/acme/vpc/aws, or HOST/NAMESPACE", text)
	}
	if !ranged {
		return f, nil
	}
	var err error
	f.allowed, err = inspect.ParseConstraints(versions)
	return f, err
}

// renameTo sets the name of the copies.
func (f *foreignModules) renameTo(text string) error {
	if !strings.Contains(text, "/") {
		// A namespace is as valid as any module in it.
		_, err := layout.ParseModule(text + "/name/system")
		f.namespace = text
		return err
	}
	if !strings.Contains(f.name, "/") {
		return fmt.Errorf("%q is the name of one module, but %s/%s are all modules of a namespace: expected the name of a namespace", text, f.host, f.name)
	}
	var err error
	f.module, err = layout.ParseModule(text)
	return err
}

// to is the name here of a module, NAMESPACE/NAME/SYSTEM.
func (f *foreignModules) to(module string) (layout.Module, error) {
	if f.module.Name != "" {
		return f.module, nil
	}
	namespace, rest, _ := strings.Cut(module, "/")
	m, err := layout.ParseModule(cmp.Or(f.namespace, namespace) + "/" + rest)
	if err != nil {
		err = fmt.Errorf("%w. Give it another name here:\n    yuba registry copy %s/%s NAMESPACE/NAME/SYSTEM", err, f.host, module)
	}
	return m, err
}

// modules are the names of what to copy.
func (f *foreignModules) modules(ctx context.Context, s *session.Session, registry *foreign.Registry) ([]string, error) {
	if strings.Contains(f.name, "/") {
		return []string{f.name}, nil
	}
	list, err := registry.Modules(ctx, f.name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		s.News("%s has no modules in %s, or the token may not read them.", f.host, f.name)
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Module)
		if m.NoCode {
			s.News("%s is also a no-code module. Its versions are copied; the settings for no-code provisioning are not.", m.Module)
		}
	}
	return names, nil
}

// open finds the registry of a host, with the token for it.
func (o *copyFlags) open(ctx context.Context, host string) (*foreign.Registry, error) {
	token, err := o.token(host)
	if err != nil {
		return nil, err
	}
	var roots *x509.CertPool
	if o.caFile != "" {
		authority, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("read the authority of --from-certificate-authority: %w", err)
		}
		if roots, err = x509.SystemCertPool(); err != nil {
			roots = x509.NewCertPool() // the system has none
		}
		if !roots.AppendCertsFromPEM(authority) {
			return nil, ui.Exitf(ui.ExitFailure, "read the authority of --from-certificate-authority: %s has no certificate in PEM form", o.caFile)
		}
	}
	registry, err := foreign.Open(ctx, host, token, roots)
	if err != nil {
		return nil, explainedForeign(err, host)
	}
	return registry, nil
}

func (o *copyFlags) token(host string) (string, error) {
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("read the token of --from-token-file: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return "", ui.Exitf(ui.ExitFailure, "read the token of --from-token-file: %s is empty", o.tokenFile)
		}
		return token, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the credentials for %s: %w", host, err)
	}
	token, _, err := foreign.Credentials{Lookup: os.LookupEnv, Home: home}.Token(host)
	return token, err
}

// explainedForeign says what to do about an error of the other registry.
func explainedForeign(err error, host string) error {
	var status *foreign.StatusError
	if errors.As(err, &status) {
		switch status.Code {
		case 401, 403:
			return ui.Exitf(ui.ExitRefused, "%w\nThe token for %s is missing or may not read. Make one, or name a file with it:\n    tofu login %s\n    --from-token-file FILE", err, host, host)
		case 404:
			return ui.Exitf(ui.ExitNotFound, "%w\nCheck the name; some registries also answer 404 if the token may not read", err)
		}
	}
	return err
}
